"""Kubernetes Events about transitions of conditions."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from ragbase_operator.builders.labels import FIELD_MANAGER
from ragbase_operator.builders.names import digest
from ragbase_operator.models.kinds import API_VERSION
from ragbase_operator.models.manifest import Manifest
from ragbase_operator.status.conditions import Transition, timestamp
from ragbase_operator.status.reasons import Reason, TaskReason, Type

__all__ = ["events_of"]

_NAME_LIMIT = 253
_MESSAGE_LIMIT = 1_024
"""Of an Event's message, set by Kubernetes."""
_QUIET = frozenset(
    {
        Reason.PROGRESSING,
        Reason.MIGRATION_RUNNING,
        Reason.DISABLED,
        Reason.EXTERNAL,
        Reason.NOT_REQUIRED,
        Reason.RUNNING,
        TaskReason.NOT_FAILED,
        TaskReason.WAITING,
    }
)
"""What a resource is expected to pass through: no news."""
_BAD_WHEN_TRUE = frozenset({Type.REINDEX, "Failed"})


def events_of(about: Manifest, changes: Iterable[Transition], now: datetime) -> list[Manifest]:
    """An Event for each transition that is news; ``about`` has kind and metadata with its uid."""
    return [_event(about, after, now) for before, after in changes if _is_news(before, after)]


def _is_news(before: dict[str, Any] | None, after: dict[str, Any]) -> bool:
    if after["reason"] in _QUIET:
        return before is not None and before["status"] == "True" and after["status"] != "True"
    if before is None and after["status"] == "True":
        return after["type"] in (Type.READY, Type.PAUSED, *_BAD_WHEN_TRUE)
    return True


def _event(about: Manifest, condition: dict[str, Any], now: datetime) -> Manifest:
    metadata, when = about["metadata"], timestamp(now)
    seed = "/".join((metadata["uid"], condition["type"], condition["reason"], when))
    stem = metadata["name"][: _NAME_LIMIT - 17].rstrip("-.")
    well = (condition["status"] == "True") != (condition["type"] in _BAD_WHEN_TRUE)
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{stem}.{digest(seed, 16)}", "namespace": metadata["namespace"]},
        "involvedObject": {
            "apiVersion": API_VERSION,
            "kind": about["kind"],
            "name": metadata["name"],
            "namespace": metadata["namespace"],
            "uid": metadata["uid"],
        },
        "type": "Normal" if well or condition["type"] == Type.PAUSED else "Warning",
        "reason": condition["reason"],
        "message": f"{condition['type']}: {condition['message']}"[:_MESSAGE_LIMIT],
        "source": {"component": FIELD_MANAGER},
        "reportingComponent": FIELD_MANAGER,
        "firstTimestamp": when,
        "lastTimestamp": when,
        "count": 1,
    }
