"""Delete all custom resources and see them gone, before the operator itself is uninstalled.

The operator must live: each resource has its finalizer, and by its deletionPolicy the operator
decides what becomes of the data. Without this, resources would hang on a finalizer that nobody
lets go, and block the next installation.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

from ragbase_operator.cluster.port import Cluster, KindAbsentError
from ragbase_operator.models.kinds import API_VERSION, BACKUP, BENCHMARK, RAGBASE, RESTORE
from ragbase_operator.models.manifest import Manifest, Ref, ref_of

__all__ = ["remove_resources"]

_ORDER = (BENCHMARK, BACKUP, RESTORE, RAGBASE)
"""What works on a RagBase goes first."""


async def remove_resources(
    cluster: Cluster,
    namespaces: Sequence[str],
    timeout_s: float,
    tell: Callable[[str], None],
    pause_s: float = 1.0,
) -> list[Ref]:
    """Delete them in ``namespaces``, or everywhere; those that are left after ``timeout_s``.

    What is made meanwhile is deleted, too. Raises `ClusterError` where the API server refuses.
    """
    deadline = time.monotonic() + timeout_s
    asked: set[str] = set()
    while True:
        left = await _resources(cluster, namespaces)
        for each in left:
            uid = each["metadata"].get("uid", "")
            if uid not in asked:
                asked.add(uid)
                tell(f"deleting {ref_of(each)}")
                await cluster.delete(ref_of(each), uid=uid or None)
        if not left or time.monotonic() >= deadline:
            return [ref_of(each) for each in left]
        await asyncio.sleep(pause_s)


async def _resources(cluster: Cluster, namespaces: Sequence[str]) -> list[Manifest]:
    found: list[Manifest] = []
    for kind in _ORDER:
        for namespace in namespaces or (None,):
            try:
                found += await cluster.list(API_VERSION, kind.name, namespace)
            except KindAbsentError:
                continue  # its CRD is gone, and with it all of its objects
    return found
