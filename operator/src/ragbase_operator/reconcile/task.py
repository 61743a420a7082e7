"""One pass over a backup, a restore or a benchmark: its Jobs, one after the other, and its status."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ragbase_operator.builders.labels import OWNER_LABEL
from ragbase_operator.builders.tasks import (
    Step,
    backup_steps,
    benchmark_steps,
    restore_steps,
    task_job,
)
from ragbase_operator.cluster.port import ConflictError, RefusedError
from ragbase_operator.models.kinds import API_VERSION, BACKUP, BENCHMARK, RAGBASE, RESTORE
from ragbase_operator.models.manifest import Manifest
from ragbase_operator.models.objects import RagBase, Resource
from ragbase_operator.reconcile.context import Context, Outcome
from ragbase_operator.reconcile.inputs import gather_inputs
from ragbase_operator.reconcile.memory import Memory
from ragbase_operator.reconcile.observe import observe
from ragbase_operator.reconcile.ownership import on_version
from ragbase_operator.reconcile.reading import read_ragbase, read_task, version_of
from ragbase_operator.reconcile.results import result_of
from ragbase_operator.status.conditions import merge_conditions, timestamp
from ragbase_operator.status.faults import clipped, fault_of_error
from ragbase_operator.status.pods import fault_of_pod
from ragbase_operator.status.reasons import TaskReason
from ragbase_operator.status.verdict import Verdict
from ragbase_operator.status.workloads import is_finished
from ragbase_operator.status.writer import last_status, write_status

__all__ = ["reconcile_task"]


class _UnableError(Exception):
    """The task cannot go on now; the verdict says why."""

    def __init__(self, reason: TaskReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


async def reconcile_task(body: Mapping[str, Any], context: Context, memory: Memory) -> Outcome:
    """Start the next Job, or read how the last one went. An ended task is never started again."""
    kind, task = str(body["kind"]), read_task(body)
    before = last_status(task, version_of(body), memory.written)
    if _has_ended(before):
        return _outcome(before, context.resync_s)
    try:
        verdict, extra = await _advance(kind, task, context)
    except _UnableError as unable:
        verdict, extra = Verdict("False", unable.reason, str(unable)), {}
    status = _status(task, before, verdict, extra, context)
    await write_status(context.cluster, kind, task, before, status, context.clock(), memory.written)
    return _outcome(status, context.retry_s)


async def _advance(
    kind: str, task: Resource[Any], context: Context
) -> tuple[Verdict, dict[str, Any]]:
    ragbase = await _ragbase(task, context)
    steps, claim = await _steps(kind, task, ragbase, context)
    mine = {OWNER_LABEL: task.uid}
    jobs = await context.cluster.list("batch/v1", "Job", task.namespace, mine)
    pods = await context.cluster.list("v1", "Pod", task.namespace, mine)
    known = {job["metadata"]["name"]: job for job in jobs}
    inputs = gather_inputs(ragbase, await observe(ragbase, context), context)
    found: dict[str, Any] = {"claimName": claim} if claim else {}
    omitted = 0
    for step in steps:
        wanted = task_job(kind, task, step, ragbase, inputs)
        name = wanted["metadata"]["name"]
        found["job"] = name
        job = known.get(name) or await _started(wanted, context)
        messages = _messages(pods, name)
        if is_finished(job, "Failed"):
            told = messages[-1] if messages else "see the events of the Job"
            text = f"Job {name} failed: {clipped(told)}; mend the cause and make a new {kind}"
            return Verdict("False", TaskReason.JOB_FAILED, text), found
        if not is_finished(job, "Complete"):
            return Verdict("False", TaskReason.RUNNING, _progress(name, pods)), found
        summary = _summary(messages)
        found |= result_of(kind, step.name, summary, found)
        omitted += int(summary.get("omitted") or 0)
    told = f"done; {omitted} rows of the result are in the Job's log only" if omitted else "done"
    return Verdict("True", TaskReason.SUCCEEDED, told), found


async def _started(job: Manifest, context: Context) -> Manifest:
    """Make the Job; never take one of the same name, such as that of an earlier task."""
    try:
        return await context.cluster.apply(on_version(job, None))
    except ConflictError as error:
        name = job["metadata"]["name"]
        raise _UnableError(
            TaskReason.NAME_TAKEN,
            f"there is a Job {name} already that is not of this task; it starts once that is gone: "
            "delete it, or make a task of another name",
        ) from error
    except RefusedError as error:
        raise _UnableError(TaskReason.JOB_FAILED, fault_of_error(error).message) from error


async def _ragbase(task: Resource[Any], context: Context) -> RagBase:
    name = task.spec.ragbase
    found = await context.cluster.list(API_VERSION, RAGBASE.name, task.namespace)
    body = next((each for each in found if each["metadata"]["name"] == name), None)
    if body is None:
        raise _UnableError(
            TaskReason.RAGBASE_ABSENT,
            f"there is no RagBase {name} in this namespace; create it, or name another one",
        )
    return read_ragbase(body)


async def _steps(
    kind: str, task: Resource[Any], ragbase: RagBase, context: Context
) -> tuple[list[Step], str | None]:
    if kind == BENCHMARK.name:
        _expect_ready(ragbase)
        return benchmark_steps(task.spec), None
    claim, folder = task.spec.claim_name, task.spec.folder
    if kind == RESTORE.name and task.spec.backup is not None:
        claim, folder = await _backup(task, context)
    claim = claim or ragbase.spec.backup.claim_name
    if claim is None:
        raise _UnableError(
            TaskReason.NO_CLAIM,
            "no claim is named; set `claimName`, or `backup.claimName` of the RagBase",
        )
    if kind == BACKUP.name:
        return backup_steps(task.spec, claim), claim
    return restore_steps(task.spec, claim, folder), claim


async def _backup(task: Resource[Any], context: Context) -> tuple[str | None, str | None]:
    """Claim and folder of the finished RagBaseBackup that a restore names."""
    found = await context.cluster.list(API_VERSION, BACKUP.name, task.namespace)
    for each in found:
        status = each.get("status") or {}
        if each["metadata"]["name"] == task.spec.backup and status.get("path"):
            return status.get("claimName"), status["path"]
    raise _UnableError(
        TaskReason.SOURCE_ABSENT,
        f"there is no finished RagBaseBackup {task.spec.backup} in this namespace",
    )


def _expect_ready(ragbase: RagBase) -> None:
    conditions = ragbase.status.get("conditions") or []
    if not any(c["type"] == "Ready" and c["status"] == "True" for c in conditions):
        raise _UnableError(
            TaskReason.WAITING, f"RagBase {ragbase.name} is not Ready; see its conditions"
        )


def _messages(pods: Sequence[Manifest], job: str) -> list[str]:
    """Termination messages of a Job's pods, the oldest first."""
    mine = [p for p in pods if (p["metadata"].get("labels") or {}).get("job-name") == job]
    mine.sort(key=lambda pod: pod["metadata"].get("creationTimestamp") or "")
    return [
        message
        for pod in mine
        for container in (pod.get("status") or {}).get("containerStatuses") or []
        if (message := ((container.get("state") or {}).get("terminated") or {}).get("message"))
    ]


def _summary(messages: Sequence[str]) -> dict[str, Any]:
    """The outcome that the last pod handed over; {} where there is none."""
    for message in reversed(messages):
        try:
            found = json.loads(message)
        except ValueError:
            continue
        if isinstance(found, dict):
            return found
    return {}


def _progress(job: str, pods: Sequence[Manifest]) -> str:
    for pod in pods:
        fault = fault_of_pod(pod)
        if fault is not None:
            return fault.message
    return f"Job {job} is running"


def _status(
    task: Resource[Any],
    before: Mapping[str, Any],
    verdict: Verdict,
    extra: Mapping[str, Any],
    context: Context,
) -> dict[str, Any]:
    failed = verdict.reason is TaskReason.JOB_FAILED
    verdicts = {
        "Complete": verdict,
        "Failed": Verdict("True", verdict.reason, verdict.message)
        if failed
        else Verdict("False", TaskReason.NOT_FAILED, ""),
    }
    now = context.clock()
    status = {
        **{name: value for name, value in before.items() if name != "conditions"},
        **extra,
        "observedGeneration": task.generation,
        "conditions": merge_conditions(
            before.get("conditions") or [], verdicts, task.generation, now
        ),
    }
    if extra.get("job"):
        status.setdefault("startTime", timestamp(now))
    if failed or verdict.status == "True":
        status["completionTime"] = timestamp(now)
    return status


def _has_ended(status: Mapping[str, Any]) -> bool:
    return any(each["status"] == "True" for each in status.get("conditions") or [])


def _outcome(status: Mapping[str, Any], after_s: float) -> Outcome:
    conditions = tuple((c["type"], c["status"]) for c in status["conditions"])
    ended = _has_ended(status)
    return Outcome(after_s, "ended" if ended else "waiting", conditions)
