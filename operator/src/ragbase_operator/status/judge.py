"""The conditions of a RagBase, from what was wished and what was seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragbase_operator.builders.kinds import POD_KINDS
from ragbase_operator.builders.labels import component_of
from ragbase_operator.models.manifest import Manifest, ref_of
from ragbase_operator.models.ragbase import RagBaseSpec
from ragbase_operator.status.claims import fault_of_claim
from ragbase_operator.status.faults import Fault
from ragbase_operator.status.reasons import Reason, Type
from ragbase_operator.status.snapshot import Snapshot
from ragbase_operator.status.verdict import Verdict, bad, faulty, good, worst
from ragbase_operator.status.workloads import judge_workload

__all__ = ["PARTS", "Facts", "judge", "type_of"]

PARTS = (
    Type.DATABASE,
    Type.SCHEMA,
    Type.EMBEDDINGS,
    Type.RERANKERS,
    Type.GRAPH,
    Type.API,
    Type.WORKERS,
)
"""Conditions that must all hold before a RagBase is Ready, in the order they depend on one another."""

_COMPONENTS = {
    "postgres": Type.DATABASE,
    "migrate": Type.SCHEMA,
    "embedding": Type.EMBEDDINGS,
    "memgraph": Type.GRAPH,
    "ner": Type.GRAPH,
    "api": Type.API,
    "localrag": Type.API,
    "worker": Type.WORKERS,
}


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known beside the children."""

    cnpg_absent: bool = False
    missing: tuple[Fault, ...] = ()
    """Secrets and keys that the spec refers to and that are not there."""
    search: Verdict | None = None
    """Whether a search answered; None: not asked, because the API is not up."""
    paused: bool = False
    reindex: str = ""
    """Why the index would have to be made anew; "" where it would not."""


def judge(
    spec: RagBaseSpec, desired: Sequence[Manifest], seen: Snapshot, facts: Facts
) -> dict[Type, Verdict]:
    """A verdict for each type of condition; `Ready` is first."""
    parts = {part: _judge_part(part, spec, desired, seen, facts) for part in PARTS}
    shared = [
        seen.failed[ref]
        for each in desired
        if type_of(component_of(each)) is Type.READY and (ref := ref_of(each)) in seen.failed
    ]
    verdicts = {Type.READY: _judge_ready(parts, shared, facts), **parts}
    verdicts[Type.REINDEX] = (
        good(Reason.EMBEDDING_CHANGED, facts.reindex)
        if facts.reindex
        else bad(Reason.NOT_REQUIRED, "the index fits the spec")
    )
    verdicts[Type.PAUSED] = (
        good(Reason.PAUSED, "nothing is changed until `paused` is taken away")
        if facts.paused
        else bad(Reason.RUNNING, "children follow the spec")
    )
    return verdicts


def type_of(component: str) -> Type:
    """The condition that tells of a component; `Ready` for what belongs to none."""
    if component.startswith("reranker"):
        return Type.RERANKERS
    return _COMPONENTS.get(component, Type.READY)


def _judge_part(
    part: Type, spec: RagBaseSpec, desired: Sequence[Manifest], seen: Snapshot, facts: Facts
) -> Verdict:
    if part is Type.DATABASE and facts.cnpg_absent:
        return bad(
            Reason.CNPG_ABSENT,
            "database.mode is cnpg, but the cluster knows no kind Cluster.postgresql.cnpg.io; "
            "install CloudNativePG: it is found within a minute",
        )
    mine = [each for each in desired if type_of(component_of(each)) is part]
    verdicts = [faulty(seen.failed[ref]) for ref in map(ref_of, mine) if ref in seen.failed]
    verdicts += _claim_verdicts(mine, seen)
    workloads = [m for m in mine if m["kind"] in POD_KINDS or m["kind"] == "Cluster"]
    verdicts += [judge_workload(each, seen) for each in workloads]
    if verdicts:
        return _joined(verdicts)
    return _without_workload(part, spec)


def _claim_verdicts(mine: Sequence[Manifest], seen: Snapshot) -> list[Verdict]:
    claims = [seen.children.get(ref_of(m)) for m in mine if m["kind"] == "PersistentVolumeClaim"]
    found = (fault_of_claim(claim, seen.events) for claim in claims if claim is not None)
    return [faulty(fault) for fault in found if fault is not None]


def _joined(verdicts: list[Verdict]) -> Verdict:
    """The worst, with the messages of all that are as it is."""
    shown = worst(verdicts)
    same = dict.fromkeys(
        v.message for v in verdicts if (v.status, v.reason) == (shown.status, shown.reason)
    )
    return Verdict(shown.status, shown.reason, "; ".join(same))


def _without_workload(part: Type, spec: RagBaseSpec) -> Verdict:
    """The verdict on a part of which nothing runs here: somebody else's, or switched off."""
    external = {
        Type.DATABASE: spec.database.external is not None,
        Type.EMBEDDINGS: spec.embeddings.external is not None,
        Type.RERANKERS: bool(spec.rerankers),
    }
    if external.get(part):
        return good(Reason.EXTERNAL, "run by somebody else; the search at the end of all tells")
    if part is Type.GRAPH and spec.graph.enabled:
        return good(Reason.AVAILABLE, "in Postgres; the workers find entities themselves")
    if part in (Type.RERANKERS, Type.GRAPH):
        return good(Reason.DISABLED, "not asked for in the spec")
    return bad(Reason.PROGRESSING, "nothing of it is there yet")


def _judge_ready(parts: dict[Type, Verdict], shared: Sequence[Fault], facts: Facts) -> Verdict:
    """``shared``: faults of children that belong to no part, such as the settings of all."""
    if facts.missing:
        first = facts.missing[0]
        return bad(first.reason, "; ".join(fault.message for fault in facts.missing))
    if shared:
        return bad(shared[0].reason, "; ".join(fault.message for fault in shared))
    failing = [(part, verdict) for part, verdict in parts.items() if verdict.status != "True"]
    if failing:
        shown = worst([verdict for _, verdict in failing])
        part = next(part for part, verdict in failing if verdict is shown)
        return bad(Reason(shown.reason), f"{part}: {shown.message}")
    if parts[Type.API].reason is Reason.SCALED_TO_ZERO:
        return bad(Reason.SCALED_TO_ZERO, "the API has no pods: raise `api.replicas`")
    if facts.search is None:
        return bad(Reason.PROGRESSING, "all parts are up; the first search has not answered yet")
    return facts.search
