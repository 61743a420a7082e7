"""What has to be done so that the children are as desired."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ragbase_operator.builders.components import MIGRATE, MIGRATION_GATED
from ragbase_operator.builders.handover import leave_replicas
from ragbase_operator.builders.kinds import holds_data
from ragbase_operator.builders.labels import component_of
from ragbase_operator.models.manifest import Manifest, Ref, ref_of
from ragbase_operator.reconcile.memory import Applied, fingerprint, signature
from ragbase_operator.status.workloads import is_finished

__all__ = ["Plan", "image_of", "make_plan"]

_GATED_KINDS = ("Deployment", "StatefulSet")


@dataclass(frozen=True, slots=True)
class Plan:
    """Children to apply, in order; to leave until the migration is done; and to delete."""

    apply: Sequence[Manifest] = ()
    held: Sequence[Ref] = ()
    skipped: Sequence[Ref] = ()
    prune: Sequence[Manifest] = ()


def make_plan(
    owner: str,
    desired: Sequence[Manifest],
    children: Mapping[Ref, Manifest],
    applied: Mapping[Ref, Applied],
) -> Plan:
    """The plan for the children of the resource with uid ``owner``.

    A child is left alone where it is what our last apply made of it and the same is desired.
    """
    held = _held(desired, children)
    to_apply, skipped = [], []
    for wished in desired:
        ref = ref_of(wished)
        if ref in held:
            continue
        manifest = leave_replicas(wished, children.get(ref))
        if _is_settled(manifest, children.get(ref), applied.get(ref)):
            skipped.append(ref)
        else:
            to_apply.append(manifest)
    wanted = {ref_of(manifest) for manifest in desired}
    return Plan(
        apply=to_apply,
        held=sorted(held),
        skipped=skipped,
        prune=[
            child
            for ref, child in children.items()
            if ref not in wanted and _may_prune(child, owner)
        ],
    )


def image_of(workload: Manifest) -> str:
    """Image of a workload's first container."""
    containers = workload["spec"]["template"]["spec"]["containers"]
    return str(containers[0].get("image", ""))


def _is_settled(desired: Manifest, observed: Manifest | None, applied: Applied | None) -> bool:
    if observed is None:
        return False
    if observed["kind"] == "Job":
        return True  # its template cannot be changed: another Job has another name
    return (
        applied is not None
        and applied.sent == fingerprint(desired)
        and applied.became == signature(observed)
    )


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
