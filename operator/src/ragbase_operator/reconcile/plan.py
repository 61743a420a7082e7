"""What has to be done so that the children are as desired."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ragbase_operator.builders.components import MIGRATE, MIGRATION_GATED
from ragbase_operator.builders.kinds import holds_data
from ragbase_operator.builders.labels import component_of
from ragbase_operator.models.manifest import Manifest, Ref, ref_of
from ragbase_operator.models.objects import RagBase
from ragbase_operator.reconcile.memory import Applied, fingerprint, signature
from ragbase_operator.reconcile.ownership import fault_of_name, on_version, other_owner
from ragbase_operator.status.faults import Fault
from ragbase_operator.status.workloads import is_finished
from ragbase_operator.status.writer import holds

__all__ = ["Plan", "image_of", "make_plan"]

_GATED_KINDS = ("Deployment", "StatefulSet")


@dataclass(frozen=True, slots=True)
class Plan:
    """Children to apply, in order; to leave until the migration is done; and to delete."""

    apply: Sequence[Manifest] = ()
    held: Sequence[Ref] = ()
    skipped: Sequence[Ref] = ()
    prune: Sequence[Manifest] = ()
    refused: Mapping[Ref, Fault] = field(default_factory=dict)
    """Children whose names are taken."""


def make_plan(
    ragbase: RagBase,
    desired: Sequence[Manifest],
    children: Mapping[Ref, Manifest],
    data: Mapping[Ref, Manifest],
    applied: Mapping[Ref, Applied],
) -> Plan:
    """The plan for the children of a RagBase; ``data``: see `Observed.data`.

    A child is left alone where it is what our last apply made of it and the same is desired. One
    that was not seen is applied only as a new object, and what holds data only as it was seen:
    a Secret that somebody edits meanwhile is not overwritten.
    """
    there = {**data, **children}
    refused = _refused(ragbase, desired, data)
    held = _held(desired, children)
    to_apply, skipped = [], []
    for wished in desired:
        ref = ref_of(wished)
        if ref in held or ref in refused:
            continue
        if _is_settled(wished, children.get(ref), applied.get(ref)):
            skipped.append(ref)
        elif ref in data or ref not in there:
            to_apply.append(on_version(wished, there.get(ref)))
        else:
            to_apply.append(wished)
    wanted = {ref_of(manifest) for manifest in desired}
    return Plan(
        apply=to_apply,
        held=sorted(held),
        skipped=skipped,
        prune=[
            child
            for ref, child in children.items()
            if ref not in wanted and _may_prune(child, ragbase.uid)
        ],
        refused=refused,
    )


def image_of(workload: Manifest) -> str:
    """Image of a workload's first container."""
    containers = workload["spec"]["template"]["spec"]["containers"]
    return str(containers[0].get("image", ""))


def _is_settled(desired: Manifest, observed: Manifest | None, applied: Applied | None) -> bool:
    if observed is None:
        return False
    if observed["kind"] == "Job":
        return _has_job_as(desired, observed)
    return (
        applied is not None
        and applied.sent == fingerprint(desired)
        and applied.became == signature(observed)
    )


def _has_job_as(desired: Manifest, observed: Manifest) -> bool:
    """Whether a Job is as desired, but for its template: that cannot be changed, and another Job
    has another name."""
    spec = {name: value for name, value in desired["spec"].items() if name != "template"}
    wanted = {"metadata": {"labels": desired["metadata"]["labels"]}, "spec": spec}
    return holds(observed, wanted)


def _held(desired: Iterable[Manifest], children: Mapping[Ref, Manifest]) -> set[Ref]:
    """Workloads that keep their image until the schema is that of the new one.

    On a first installation nothing is held: pods wait for the schema by their own probes.
    """
    manifests = list(desired)
    jobs = [m for m in manifests if m["kind"] == "Job" and component_of(m) == MIGRATE]
    if all(is_finished(children.get(ref_of(job), {}), "Complete") for job in jobs):
        return set()
    return {
        ref_of(manifest)
        for manifest in manifests
        if manifest["kind"] in _GATED_KINDS
        and component_of(manifest) in MIGRATION_GATED
        and (there := children.get(ref_of(manifest))) is not None
        and image_of(there) != image_of(manifest)
    }


def _refused(
    ragbase: RagBase, desired: Iterable[Manifest], data: Mapping[Ref, Manifest]
) -> dict[Ref, Fault]:
    """What holds data, has the name of a child and is another's."""
    owners = {ref: other_owner(data[ref], ragbase) for ref in map(ref_of, desired) if ref in data}
    return {ref: fault_of_name(ref, owner) for ref, owner in owners.items() if owner is not None}


def _may_prune(child: Manifest, owner: str) -> bool:
    """Not data, not what is going already, and not what another controller made, as a CronJob."""
    metadata = child["metadata"]
    controllers = [
        reference["uid"]
        for reference in metadata.get("ownerReferences") or []
        if reference.get("controller")
    ]
    return (
        not holds_data(child)
        and not metadata.get("deletionTimestamp")
        and all(uid == owner for uid in controllers)
    )
