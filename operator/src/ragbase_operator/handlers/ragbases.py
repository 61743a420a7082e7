"""Handlers of RagBase: a daemon tends each, its events wake the daemon, its end is retention."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import kopf
from pydantic import ValidationError

from ragbase_operator.builders.references import secret_uses
from ragbase_operator.cluster.port import ClusterError
from ragbase_operator.handlers.runtime import Runtime, owner_name, secret_name
from ragbase_operator.models.kinds import GROUP, RAGBASE, VERSION
from ragbase_operator.reconcile.loop import live
from ragbase_operator.reconcile.ragbase import reconcile
from ragbase_operator.reconcile.reading import read_ragbase, version_of
from ragbase_operator.reconcile.retention import retire

__all__ = ["register_ragbases", "tended"]

_SELECTOR = (GROUP, VERSION, RAGBASE.plural)
_RETRY_S = 5.0


def register_ragbases(registry: kopf.OperatorRegistry, runtime: Runtime) -> None:
    """Add the handlers; none of them returns anything or touches `patch`."""
    kopf.on.event(*_SELECTOR, registry=registry, id="wake")(partial(_wake, runtime))
    kopf.daemon(*_SELECTOR, registry=registry, id="tend", cancellation_timeout=10.0)(
        partial(_tend, runtime)
    )
    kopf.on.delete(*_SELECTOR, registry=registry, id="retire")(partial(_retire, runtime))


async def _wake(
    runtime: Runtime,
    /,
    body: kopf.Body,
    type: str | None,  # noqa: A002 - Kopf's name
    **_: Any,
) -> None:
    metadata = body["metadata"]
    uid, place = metadata["uid"], (metadata["namespace"], metadata["name"])
    if type == "DELETED":
        runtime.forget(RAGBASE.name, uid)
        runtime.metrics.gone(*place)
        return
    runtime.metrics.backed_up(*place, (body.get("status") or {}).get("lastBackup"))
    if version_of(body) != runtime.memory(uid).written.version:
        runtime.bells.of(uid).ring()


async def _tend(runtime: Runtime, /, body: kopf.Body, uid: str, stopped: Any, **_: Any) -> None:
    async def work() -> Any:
        seen = dict(body)
        _listen(runtime, seen)
        return await reconcile(seen, runtime.context, runtime.memory(uid))

    await tended(runtime, RAGBASE.name, uid, work, stopped)


async def tended(runtime: Runtime, kind: str, uid: str, work: Any, stopped: Any) -> None:
    """Live until Kopf says stop; then end at once, in the middle of a pass if need be."""
    bell = runtime.bells.of(uid)
    life = asyncio.create_task(live(kind, uid, bell, work, runtime.metrics, runtime.pace))
    try:
        await stopped.wait()
    finally:
        life.cancel()
        await asyncio.gather(life, return_exceptions=True)


def _listen(runtime: Runtime, body: dict[str, Any]) -> None:
    metadata = body["metadata"]
    names = {owner_name(metadata["uid"])}
    try:
        uses = secret_uses(read_ragbase(body).spec)
    except ValidationError:
        uses = frozenset()
    names |= {secret_name(metadata["namespace"], use.name) for use in uses}
    runtime.bells.listen(metadata["uid"], frozenset(names))


async def _retire(runtime: Runtime, /, body: kopf.Body, uid: str, **_: Any) -> None:
    async with runtime.bells.of(uid).lock:
        try:
            await retire(dict(body), runtime.context)
        except ClusterError as error:
            raise kopf.TemporaryError(str(error), delay=_RETRY_S) from error
