"""Handlers of backups, restores and benchmarks: a daemon each, and no finalizer work."""

from __future__ import annotations

from functools import partial
from typing import Any

import kopf

from ragbase_operator.handlers.ragbases import tended
from ragbase_operator.handlers.runtime import Runtime, owner_name
from ragbase_operator.models.kinds import BACKUP, BENCHMARK, GROUP, RESTORE, VERSION, Kind
from ragbase_operator.reconcile.reading import version_of
from ragbase_operator.reconcile.task import reconcile_task

__all__ = ["register_tasks"]


def register_tasks(registry: kopf.OperatorRegistry, runtime: Runtime) -> None:
    """Add the handlers of the three kinds."""
    for kind in (BACKUP, RESTORE, BENCHMARK):
        selector = (GROUP, VERSION, kind.plural)
        name = kind.plural
        kopf.on.event(*selector, registry=registry, id=f"wake-{name}")(
            partial(_wake, runtime, kind)
        )
        kopf.daemon(*selector, registry=registry, id=f"tend-{name}", cancellation_timeout=10.0)(
            partial(_tend, runtime, kind)
        )


async def _wake(
    runtime: Runtime,
    kind: Kind,
    /,
    body: kopf.Body,
    type: str | None,  # noqa: A002 - Kopf's name
    **_: Any,
) -> None:
    uid = body["metadata"]["uid"]
    if type == "DELETED":
        runtime.forget(kind.name, uid)
        return
    if kind is BENCHMARK and (body.get("status") or {}).get("completionTime"):
        metadata, spec = body["metadata"], body["spec"]
        runtime.metrics.benchmarked(metadata["namespace"], spec["ragbase"], dict(body["status"]))
    if version_of(body) != runtime.memory(uid).written.version:
        runtime.bells.of(uid).ring()


async def _tend(
    runtime: Runtime, kind: Kind, /, body: kopf.Body, uid: str, stopped: Any, **_: Any
) -> None:
    async def work() -> Any:
        runtime.bells.listen(uid, frozenset({owner_name(uid)}))
        seen = {**dict(body), "kind": kind.name}
        return await reconcile_task(seen, runtime.context, runtime.memory(uid))

    await tended(runtime, kind.name, uid, work, stopped)
