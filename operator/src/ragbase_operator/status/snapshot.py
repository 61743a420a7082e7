"""What was seen of a resource's children in one pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ragbase_operator.builders.labels import component_of
from ragbase_operator.models.manifest import Manifest, Ref
from ragbase_operator.status.faults import Fault

__all__ = ["Snapshot"]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Children, their pods and what is said of them; ``failed``: children that were not applied."""

    children: Mapping[Ref, Manifest] = field(default_factory=dict)
    pods: Sequence[Manifest] = ()
    events: Sequence[Manifest] = ()
    failed: Mapping[Ref, Fault] = field(default_factory=dict)

    def of_kind(self, kind: str) -> Iterator[Manifest]:
        """Children of a kind."""
        return (each for ref, each in self.children.items() if ref.kind == kind)

    def pods_of(self, component: str) -> list[Manifest]:
        """Pods of a component, the newest first."""
        mine = [pod for pod in self.pods if component_of(pod) == component]
        return sorted(mine, key=_born, reverse=True)

    def claims_of(self, component: str) -> list[Manifest]:
        """Claims of a component."""
        return [c for c in self.of_kind("PersistentVolumeClaim") if component_of(c) == component]

    def events_about(self, kind: str, name: str) -> list[Manifest]:
        """Events about one object, or about those it makes (``<name>-…``)."""
        kinds = {kind, "ReplicaSet"} if kind == "Deployment" else {kind}
        return [event for event in self.events if _about(event, kinds, name)]


def _about(event: Manifest, kinds: set[str], name: str) -> bool:
    about = event.get("involvedObject") or {}
    given = about.get("name") or ""
    return about.get("kind") in kinds and (given == name or given.startswith(f"{name}-"))


def _born(pod: Manifest) -> str:
    return pod["metadata"].get("creationTimestamp") or ""
