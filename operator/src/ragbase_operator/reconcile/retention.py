"""What becomes of the children when a RagBase is deleted."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from ragbase_operator.builders.kinds import CHILD_KINDS, FOREIGN_KINDS, holds_data
from ragbase_operator.builders.labels import OWNER_LABEL
from ragbase_operator.cluster.port import KindAbsentError
from ragbase_operator.models.manifest import Manifest, ref_of
from ragbase_operator.reconcile.context import Context

__all__ = ["released", "retire"]


async def retire(body: Mapping[str, Any], context: Context) -> None:
    """Delete what may go and release what stays; afterwards the RagBase itself may go.

    Works on the raw object, so that one whose spec cannot be read, or whose children never came
    up, goes as quickly as any other. Raises the first `ClusterError` after all has been tried.
    """
    metadata = body["metadata"]
    retain = (body.get("spec") or {}).get("deletionPolicy", "Retain") != "Delete"
    children = await _children(metadata["namespace"], metadata["uid"], context)
    tasks = [_retire(child, metadata["uid"], retain, context) for child in children]
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome


def released(child: Manifest, owner: str) -> Manifest | None:
    """``child`` without its reference to ``owner``, to be applied; None where it has none.

    Without that the garbage collector would take it along with its owner.
    """
    references = child["metadata"].get("ownerReferences") or []
    if all(reference["uid"] != owner for reference in references):
        return None
    metadata = {
        name: child["metadata"][name]
        for name in ("name", "namespace", "labels")
        if name in child["metadata"]
    }
    kept = {name: value for name, value in child.items() if name not in ("metadata", "status")}
    return {**kept, "metadata": metadata}


async def _children(namespace: str, owner: str, context: Context) -> list[Manifest]:
    found: list[Manifest] = []
    for kind in (*CHILD_KINDS, *FOREIGN_KINDS):
        try:
            found += await context.cluster.list(
                kind.api_version, kind.kind, namespace, {OWNER_LABEL: owner}
            )
        except KindAbsentError:
            continue
    return found


async def _retire(child: Manifest, owner: str, retain: bool, context: Context) -> None:
    if holds_data(child) and retain:
        kept = released(child, owner)
        if kept is not None and not child["metadata"].get("deletionTimestamp"):
            await context.cluster.apply(kept)
        return
    try:
        await context.cluster.delete(ref_of(child), uid=child["metadata"].get("uid"))
    except KindAbsentError:
        return
