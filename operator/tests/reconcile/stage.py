"""A fake cluster with one RagBase in it, a clock that stands still, and an API that answers."""

from __future__ import annotations

from collections import Counter
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from ragbase_operator.builders.images import default_images
from ragbase_operator.cluster.fake import FakeCluster
from ragbase_operator.models.manifest import Manifest, Ref
from ragbase_operator.reconcile.context import Context, Outcome
from ragbase_operator.reconcile.memory import Memory
from ragbase_operator.reconcile.probe import Counts, SearchAnswer
from ragbase_operator.reconcile.ragbase import reconcile

API_VERSION = "ragbase.dev/v1alpha1"
NAMESPACE = "tests"


@dataclass
class FakeProbe:
    """An API as a test wants it; ``asked`` are the keys it was given."""

    answer: SearchAnswer = field(default_factory=lambda: SearchAnswer(ok=True))
    counts: Counts | None = field(default_factory=lambda: Counts(3, 9, 0))
    memgraph: str | None = "connected"
    asked: list[str | None] = field(default_factory=list)

    async def search(self, url: str, key: str | None) -> SearchAnswer:
        self.asked.append(key)
        return self.answer

    async def count(self, url: str, key: str | None) -> Counts | None:
        return self.counts

    async def projection(self, url: str, key: str | None) -> str | None:
        return self.memgraph


@dataclass
class FakeMeter:
    """Counts by kind and outcome."""

    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)

    def applied(self, kind: str, outcome: str) -> None:
        self.outcomes[kind, outcome] += 1

    def total(self, outcome: str) -> int:
        return sum(n for (_, each), n in self.outcomes.items() if each == outcome)


class Stage:
    """One RagBase called `kb`."""

    def __init__(self, spec: dict[str, Any] | None = None, name: str = "kb") -> None:
        self.cluster = FakeCluster()
        self.probe = FakeProbe()
        self.meter = FakeMeter()
        self.memory = Memory()
        self.now = datetime(2026, 11, 30, 8, 0, tzinfo=UTC)
        self.ref = Ref(API_VERSION, "RagBase", NAMESPACE, name)
        self.drawn = 0
        self.version = "0.1.0"
        self._spec = spec or {}

    async def create(self) -> None:
        """Apply the RagBase."""
        await self.cluster.apply(
            {
                "apiVersion": API_VERSION,
                "kind": "RagBase",
                "metadata": {"name": self.ref.name, "namespace": NAMESPACE},
                "spec": deepcopy(self._spec),
            }
        )

    @property
    def context(self) -> Context:
        return Context(
            cluster=self.cluster,
            images=default_images("registry.example/ragbase", self.version),
            version=self.version,
            probe=self.probe,
            meter=self.meter,
            clock=lambda: self.now,
            draw=self.draw,
        )

    def draw(self) -> str:
        self.drawn += 1
        return f"{self.drawn:064x}"

    async def run(self) -> Outcome:
        """One pass over the RagBase as it is in the cluster."""
        if self.cluster.get(self.ref) is None:
            await self.create()
        return await reconcile(self.body, self.context, self.memory)

    async def settle(self) -> Outcome:
        """Passes and kubelet in turn until the RagBase has nothing left to wait for."""
        await self.run()
        self.play_kubelet()
        await self.run()
        self.play_kubelet()
        return await self.run()

    @property
    def body(self) -> Manifest:
        found = self.cluster.get(self.ref)
        assert found is not None
        return found

    def edit_spec(self, **changes: Any) -> None:
        """A user edits the spec."""
        self.cluster.edit(self.ref, lambda body: body.setdefault("spec", {}).update(changes))

    def conditions(self) -> dict[str, dict[str, Any]]:
        return {each["type"]: each for each in self.body["status"]["conditions"]}

    def child(self, kind: str, name: str) -> Manifest:
        found = next((each for each in self.all(kind) if each["metadata"]["name"] == name), None)
        assert found is not None, f"no {kind} {name}"
        return found

    def all(self, kind: str) -> list[Manifest]:
        return [each for each in self.cluster._store.all() if each["kind"] == kind]

    def forget_writes(self) -> None:
        self.cluster.writes.clear()

    def later(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def play_kubelet(self) -> None:
        """All pods run, all Jobs are done, all claims are bound."""
        for kind in ("Deployment", "StatefulSet", "Job", "PersistentVolumeClaim"):
            for each in self.all(kind):
                self.cluster.edit(ref(each), _well)


def ref(manifest: Manifest) -> Ref:
    metadata = manifest["metadata"]
    return Ref(
        manifest["apiVersion"], manifest["kind"], metadata.get("namespace", ""), metadata["name"]
    )


def _well(manifest: Manifest) -> None:
    replicas = manifest["spec"].get("replicas", 1)
    if manifest["kind"] == "Job":
        manifest["status"] = {"conditions": [{"type": "Complete", "status": "True"}]}
    elif manifest["kind"] == "PersistentVolumeClaim":
        manifest["status"] = {"phase": "Bound"}
    else:
        manifest["status"] = {
            "observedGeneration": manifest["metadata"].get("generation", 1),
            "replicas": replicas,
            "readyReplicas": replicas,
            "updatedReplicas": replicas,
        }
