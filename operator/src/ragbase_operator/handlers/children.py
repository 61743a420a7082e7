"""Events of children wake their owner; nothing else is done with them."""

from __future__ import annotations

from functools import partial
from typing import Any

import kopf

from ragbase_operator.builders.kinds import CHILD_KINDS, FOREIGN_KINDS, Kind
from ragbase_operator.builders.labels import OWNER_LABEL
from ragbase_operator.handlers.heartbeat import LEASE
from ragbase_operator.handlers.runtime import Runtime

__all__ = ["register_children", "register_heartbeat"]

_SECRET = Kind("v1", "Secret")
_POD = Kind("v1", "Pod")


def register_children(registry: kopf.OperatorRegistry, runtime: Runtime) -> None:
    """Watch all kinds of children, their pods, and all Secrets: a spec may refer to any."""
    for kind in (*CHILD_KINDS, *FOREIGN_KINDS, _POD):
        labels = None if kind == _SECRET else {OWNER_LABEL: kopf.PRESENT}
        group, _, version = kind.api_version.rpartition("/")
        kopf.on.event(
            group=group,
            version=version,
            kind=kind.kind,
            registry=registry,
            id=f"child-{kind.kind.lower()}",
            labels=labels,
        )(partial(_ring, runtime))


def register_heartbeat(registry: kopf.OperatorRegistry, runtime: Runtime, namespace: str) -> None:
    """Watch our own Lease."""

    def is_ours(name: str, meta: kopf.Meta, **_: Any) -> bool:
        return name == LEASE and meta.get("namespace") == namespace

    kopf.on.event(
        "coordination.k8s.io", "v1", "leases", registry=registry, id="heartbeat", when=is_ours
    )(partial(_see, runtime))


async def _ring(runtime: Runtime, /, body: kopf.Body, **_: Any) -> None:
    runtime.ring_for(body)


async def _see(runtime: Runtime, /, body: kopf.Body, **_: Any) -> None:
    spec = body.get("spec") or {}
    runtime.heartbeat.see(spec.get("holderIdentity"), spec.get("renewTime"))
