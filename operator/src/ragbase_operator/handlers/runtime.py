"""What all handlers of one operator share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ragbase_operator.builders.labels import OWNER_LABEL
from ragbase_operator.handlers.heartbeat import Heartbeat
from ragbase_operator.handlers.metrics import Metrics
from ragbase_operator.reconcile.bell import Bells
from ragbase_operator.reconcile.context import Context
from ragbase_operator.reconcile.loop import Pace
from ragbase_operator.reconcile.memory import Memory

__all__ = ["Runtime", "owner_name", "secret_name"]


@dataclass(slots=True)
class Runtime:
    """One operator."""

    context: Context
    metrics: Metrics
    heartbeat: Heartbeat
    pace: Pace = field(default_factory=Pace)
    bells: Bells = field(default_factory=Bells)
    memories: dict[str, Memory] = field(default_factory=dict)

    def memory(self, uid: str) -> Memory:
        """Of a resource; made where there is none."""
        return self.memories.setdefault(uid, Memory())

    def forget(self, kind: str, uid: str) -> None:
        """The resource is gone."""
        self.bells.forget(uid)
        self.memories.pop(uid, None)
        self.metrics.forget(kind, uid)

    def ring_for(self, child: Mapping[str, Any]) -> None:
        """A child, or a Secret, was seen to change."""
        metadata = child["metadata"]
        owner = (metadata.get("labels") or {}).get(OWNER_LABEL)
        if owner:
            self.bells.ring(owner_name(owner))
        if child.get("kind") == "Secret":
            self.bells.ring(secret_name(metadata["namespace"], metadata["name"]))


def owner_name(uid: str) -> tuple[str, ...]:
    """What children ring: the uid in their label."""
    return ("owner", uid)


def secret_name(namespace: str, name: str) -> tuple[str, ...]:
    """What a Secret rings that a spec refers to."""
    return ("secret", namespace, name)
