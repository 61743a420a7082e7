"""What an operator remembers of a resource between passes. Losing it costs requests, never truth."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ragbase_operator.builders.names import digest
from ragbase_operator.builders.objects import canonical
from ragbase_operator.models.manifest import Manifest, Ref
from ragbase_operator.reconcile.probe import Counts, SearchAnswer
from ragbase_operator.status.writer import Written

__all__ = ["Applied", "Memory", "fingerprint", "signature"]


@dataclass(frozen=True, slots=True)
class Applied:
    """A child after our last apply: the hash of what was sent, and of what it had become."""

    sent: str
    became: str


@dataclass(slots=True)
class Memory:
    """Of one resource; a new one after each start."""

    applied: dict[Ref, Applied] = field(default_factory=dict)
    written: Written = field(default_factory=Written)
    answer: SearchAnswer | None = None
    answered_at: datetime | None = None
    projection: str | None = None
    projected_at: datetime | None = None
    counts: Counts | None = None
    counted_at: datetime | None = None


def fingerprint(desired: Manifest) -> str:
    """Hash of what is sent, whatever version it must be sent on."""
    metadata = {
        name: value for name, value in desired["metadata"].items() if name != "resourceVersion"
    }
    return digest(canonical({**desired, "metadata": metadata}), 16)


def signature(observed: Manifest) -> str:
    """Hash of all that somebody may have changed: not status, nor what the server keeps itself."""
    metadata: dict[str, Any] = observed["metadata"]
    kept = {
        name: metadata.get(name)
        for name in ("uid", "labels", "annotations", "ownerReferences", "finalizers")
    }
    body = {name: value for name, value in observed.items() if name not in ("metadata", "status")}
    return digest(canonical({**body, "metadata": kept}), 16)
