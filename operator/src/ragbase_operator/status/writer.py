"""The one writer of status: it compares first, and so writes only what is news."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ragbase_operator.cluster.port import Cluster
from ragbase_operator.models.kinds import API_VERSION
from ragbase_operator.models.objects import Resource
from ragbase_operator.status.conditions import transitions
from ragbase_operator.status.events import events_of

__all__ = ["Written", "holds", "last_status", "write_status"]


@dataclass(slots=True)
class Written:
    """What this process wrote last to a resource's status; "" as long as it wrote nothing."""

    version: str = ""
    status: dict[str, Any] = field(default_factory=dict)


def last_status(resource: Resource[Any], version: str, written: Written) -> dict[str, Any]:
    """The newest status known: a watch may still show the resource as it was before our write.

    Resource versions of one resource are numbers that grow.
    """
    if written.version and _number(version) < _number(written.version):
        return written.status
    return resource.status


async def write_status(
    cluster: Cluster,
    kind: str,
    resource: Resource[Any],
    before: Mapping[str, Any],
    after: dict[str, Any],
    now: datetime,
    written: Written,
) -> bool:
    """Apply ``after`` where it differs from ``before``, then post Events; whether it wrote."""
    if holds(before, after):
        return False
    metadata = {"name": resource.name, "namespace": resource.namespace}
    answer = await cluster.apply(
        {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "status": after},
        subresource="status",
    )
    written.version = str(answer["metadata"].get("resourceVersion", ""))
    written.status = after
    about = {"kind": kind, "metadata": {**metadata, "uid": resource.uid}}
    changes = transitions(before.get("conditions") or [], after["conditions"])
    for event in events_of(about, changes, now):
        await cluster.apply(event)
    return True


def holds(there: Any, wanted: Any) -> bool:
    """Whether ``wanted`` is in ``there``, which may have more: defaults of the schema."""
    if isinstance(wanted, Mapping):
        return isinstance(there, Mapping) and all(
            key in there and holds(there[key], value) for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        return (
            isinstance(there, list) and len(there) == len(wanted) and all(map(holds, there, wanted))
        )
    return bool(there == wanted)


def _number(version: str) -> int:
    return int(version) if version.isdigit() else 0
