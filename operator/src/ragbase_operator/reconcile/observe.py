"""What is there: children by their owner label, pods, and what the API server knows of them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ragbase_operator.builders.kinds import CHILD_KINDS, DATA_KINDS, FOREIGN_KINDS, Kind
from ragbase_operator.builders.labels import owner_labels, owner_of, selector_of
from ragbase_operator.cluster.port import KindAbsentError
from ragbase_operator.models.manifest import Manifest, Ref, ref_of
from ragbase_operator.models.objects import RagBase
from ragbase_operator.reconcile.context import Context
from ragbase_operator.status.snapshot import Snapshot
from ragbase_operator.status.workloads import wanted_pods

__all__ = ["Observed", "find", "observe", "with_events"]

_PODS = Kind("v1", "Pod")
_WORKLOADS = ("Deployment", "StatefulSet")


@dataclass(frozen=True, slots=True)
class Observed:
    """One look at the namespace of a RagBase."""

    children: dict[Ref, Manifest]
    pods: Sequence[Manifest]
    data: dict[Ref, Manifest]
    """All Secrets, claims and databases of the namespace: children, retained, and others'."""
    kinds: frozenset[str]
    """Foreign kinds that the cluster knows, as in `Inputs.kinds`."""

    @property
    def secrets(self) -> dict[str, Manifest]:
        """All Secrets of the namespace by name: generated, retained, and referred to."""
        return {ref.name: each for ref, each in self.data.items() if ref.kind == "Secret"}


async def observe(ragbase: RagBase, context: Context) -> Observed:
    """List everything once. Raises `ClusterError` where the API server does not answer."""
    gate = asyncio.Semaphore(context.parallel)

    async def one(kind: Kind) -> Sequence[Manifest] | None:
        async with gate:
            return await _listed(kind, ragbase.namespace, _labels(ragbase, kind), context)

    kinds = (_PODS, *CHILD_KINDS, *FOREIGN_KINDS)
    pods, *lists = await asyncio.gather(*map(one, kinds))
    found = {ref_of(each): each for objects in lists for each in objects or ()}
    return Observed(
        children={ref: each for ref, each in found.items() if owner_of(each) == ragbase.uid},
        pods=pods or (),
        data={ref: each for ref, each in found.items() if ref.kind in DATA_KINDS},
        kinds=frozenset(
            kind.foreign_name
            for kind, objects in zip(kinds[1:], lists, strict=True)
            if kind in FOREIGN_KINDS and objects is not None
        ),
    )


async def find(ref: Ref, context: Context) -> Manifest | None:
    """One object; None where it is not there."""
    objects = await context.cluster.list(ref.api_version, ref.kind, ref.namespace)
    return next((each for each in objects if ref_of(each) == ref), None)


async def with_events(seen: Snapshot, namespace: str, context: Context) -> Snapshot:
    """``seen`` with the namespace's events, where a claim or a missing pod makes them worth it."""
    if not _puzzling(seen):
        return seen
    events = await context.cluster.list("v1", "Event", namespace)
    return Snapshot(seen.children, seen.pods, _by_time(events), seen.failed)


def _labels(ragbase: RagBase, kind: Kind) -> dict[str, str]:
    """Children are listed by their owner, pods by what selects them, and what holds data whole."""
    if kind.kind in DATA_KINDS:
        return {}
    if kind == _PODS:
        return {name: value for name, value in selector_of(ragbase, "").items() if value}
    return owner_labels(ragbase)


async def _listed(
    kind: Kind, namespace: str, labels: dict[str, str], context: Context
) -> Sequence[Manifest] | None:
    """Objects of a kind; None where the cluster does not know it."""
    try:
        return await context.cluster.list(kind.api_version, kind.kind, namespace, labels)
    except KindAbsentError:
        return None


def _puzzling(seen: Snapshot) -> bool:
    """Whether something stands still for a reason that only events tell."""
    claims = seen.of_kind("PersistentVolumeClaim")
    if any((claim.get("status") or {}).get("phase") == "Pending" for claim in claims):
        return True
    wanted = sum(wanted_pods(w) for kind in _WORKLOADS for w in seen.of_kind(kind))
    jobs = [job for job in seen.of_kind("Job") if not (job.get("status") or {}).get("conditions")]
    return wanted + len(jobs) > len(seen.pods)


def _by_time(events: Iterable[Manifest]) -> list[Manifest]:
    return sorted(
        events, key=lambda event: event.get("lastTimestamp") or event.get("eventTime") or ""
    )
