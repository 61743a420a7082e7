"""Whether a workload serves, and what keeps it from it."""

from __future__ import annotations

from typing import Any

from ragbase_operator.builders.labels import component_of
from ragbase_operator.models.manifest import Manifest, ref_of
from ragbase_operator.status.claims import fault_of_claim
from ragbase_operator.status.faults import Fault, clipped
from ragbase_operator.status.pods import fault_of_pod
from ragbase_operator.status.reasons import Reason
from ragbase_operator.status.snapshot import Snapshot
from ragbase_operator.status.verdict import Verdict, bad, faulty, good

__all__ = ["is_finished", "judge_workload", "wanted_pods"]


def judge_workload(desired: Manifest, seen: Snapshot) -> Verdict:
    """A verdict on a Deployment, StatefulSet, Job or CloudNativePG Cluster."""
    ref = ref_of(desired)
    if ref in seen.failed:
        return faulty(seen.failed[ref])
    observed = seen.children.get(ref)
    if observed is None:
        return bad(Reason.PROGRESSING, f"{ref.kind} {ref.name} is not there yet")
    if ref.kind == "Job":
        return _judge_job(observed, seen)
    if ref.kind == "Cluster":
        return _judge_cluster(observed)
    return _judge_pods(observed, seen)


def wanted_pods(workload: Manifest) -> int:
    """How many pods a Deployment or StatefulSet is to have."""
    replicas = workload["spec"].get("replicas")
    return 1 if replicas is None else int(replicas)


def is_finished(job: Manifest, outcome: str) -> bool:
    """Whether a Job has ended so: `Complete` or `Failed`."""
    conditions = (job.get("status") or {}).get("conditions") or []
    return any(c["type"] == outcome and c["status"] == "True" for c in conditions)


def _judge_pods(observed: Manifest, seen: Snapshot) -> Verdict:
    kind, name = observed["kind"], observed["metadata"]["name"]
    status, wanted = observed.get("status") or {}, wanted_pods(observed)
    if wanted == 0:
        return good(Reason.SCALED_TO_ZERO, f"{kind} {name} has no pods, as asked")
    ready = int(status.get("readyReplicas") or 0)
    counted = f"{kind} {name}: {ready} of {wanted} pods ready"
    if ready >= wanted and _is_current(observed, status, wanted):
        return good(Reason.AVAILABLE, counted)
    fault = _fault(observed, seen, wanted)
    if ready > 0:
        return good(Reason.ROLLING_OUT, f"{counted}; {fault.message}" if fault else counted)
    return faulty(fault) if fault else bad(Reason.PROGRESSING, counted)


def _is_current(observed: Manifest, status: dict[str, Any], wanted: int) -> bool:
    """Whether the controller has seen the spec and every pod is of it."""
    generation = observed["metadata"].get("generation", 0)
    return (
        int(status.get("observedGeneration") or 0) >= generation
        and int(status.get("updatedReplicas") or 0) >= wanted
    )


def _fault(workload: Manifest, seen: Snapshot, wanted: int) -> Fault | None:
    component = component_of(workload)
    for claim in seen.claims_of(component):
        fault = fault_of_claim(claim, seen.events)
        if fault is not None:
            return fault
    pods = seen.pods_of(component)
    for pod in pods:
        fault = fault_of_pod(pod)
        if fault is not None:
            return fault
    return _creation_fault(workload, seen) if len(pods) < wanted else None


def _creation_fault(workload: Manifest, seen: Snapshot) -> Fault | None:
    """Why pods are not made at all: a quota, pod security, a webhook."""
    kind, name = workload["kind"], workload["metadata"]["name"]
    for condition in (workload.get("status") or {}).get("conditions") or []:
        if condition["type"] == "ReplicaFailure" and condition["status"] == "True":
            return _refusal(kind, name, condition.get("message") or "")
    for event in reversed(seen.events_about(kind, name)):
        if event.get("reason") == "FailedCreate":
            return _refusal(kind, name, event.get("message") or "")
    return None


def _refusal(kind: str, name: str, said: str) -> Fault:
    text = f"{kind} {name} cannot make pods: {clipped(said)}"
    if "exceeded quota" in said:
        return Fault(Reason.QUOTA_EXCEEDED, f"{text}; raise the quota, or ask for less")
    return Fault(Reason.POD_REFUSED, f"{text}; change `pod` in the spec, or the namespace's policy")


def _judge_job(job: Manifest, seen: Snapshot) -> Verdict:
    name, status = job["metadata"]["name"], job.get("status") or {}
    if is_finished(job, "Complete"):
        return good(Reason.AVAILABLE, f"Job {name} is complete")
    fault = _fault(job, seen, 1)
    if is_finished(job, "Failed"):
        said = next(c.get("message", "") for c in status["conditions"] if c["type"] == "Failed")
        told = fault.message if fault else clipped(said)
        return bad(
            Reason.MIGRATION_FAILED,
            f"Job {name} failed: {told}; mend the cause, then delete the Job: it is made again",
        )
    if fault is not None:
        return faulty(fault)
    return bad(Reason.MIGRATION_RUNNING, f"Job {name} is running")


def _judge_cluster(cluster: Manifest) -> Verdict:
    """Fields of CloudNativePG's ClusterStatus: `readyInstances`, `phase`, `phaseReason`."""
    name, status = cluster["metadata"]["name"], cluster.get("status") or {}
    wanted, ready = int(cluster["spec"].get("instances", 1)), int(status.get("readyInstances") or 0)
    counted = f"Cluster {name}: {ready} of {wanted} instances ready"
    if ready >= wanted:
        return good(Reason.AVAILABLE, counted)
    told = ": ".join(filter(None, (status.get("phase"), status.get("phaseReason"))))
    text = f"{counted}; {clipped(told)}" if told else counted
    return good(Reason.ROLLING_OUT, text) if ready else bad(Reason.PROGRESSING, text)
