"""Jobs of backups, restores and benchmarks: the API's image, for one RagBase, once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from ragbase_operator.builders.components import BACKUP, BENCHMARK, RESTORE, api_url
from ragbase_operator.builders.environment import from_secret, plain
from ragbase_operator.builders.inputs import Inputs
from ragbase_operator.builders.jobs import job_spec
from ragbase_operator.builders.labels import OWNER_LABEL, labels_of
from ragbase_operator.builders.names import api_key_secret, bounded
from ragbase_operator.builders.settings import database_env
from ragbase_operator.models.backups import RagBaseBackupSpec, RagBaseRestoreSpec
from ragbase_operator.models.benchmark import RagBaseBenchmarkSpec
from ragbase_operator.models.kinds import API_VERSION
from ragbase_operator.models.manifest import Manifest
from ragbase_operator.models.objects import RagBase, Resource

__all__ = ["Step", "backup_steps", "benchmark_steps", "restore_steps", "task_job"]

SUMMARY: Final = ["--summary", "/dev/termination-log"]
"""How a Job hands its outcome over: as its container's termination message."""


@dataclass(frozen=True, slots=True)
class Step:
    """One Job of a task."""

    name: str
    component: str
    args: tuple[str, ...]
    claims: dict[str, str] = field(default_factory=dict)


def backup_steps(spec: RagBaseBackupSpec, claim: str) -> list[Step]:
    """`ragbase backup` into ``claim``."""
    args = ["backup", _folder("/backup", spec.folder), "--compression", str(spec.compression)]
    if spec.keep is not None:
        args += ["--keep", str(spec.keep)]
    if spec.keep_days is not None:
        args += ["--keep-days", str(spec.keep_days)]
    return [Step("backup", BACKUP, (*args, *SUMMARY), {"/backup": claim})]


def restore_steps(spec: RagBaseRestoreSpec, claim: str, folder: str | None) -> list[Step]:
    """`ragbase restore` of a backup, or the newest one, in ``folder`` of ``claim``."""
    args = ["restore", _folder("/backup", folder), "--memory", str(spec.memory_megabytes)]
    args += ["--workers", str(spec.workers), *SUMMARY]
    return [Step("restore", RESTORE, tuple(args), {"/backup": claim})]


def benchmark_steps(spec: RagBaseBenchmarkSpec) -> list[Step]:
    """`ragbase eval`, then `ragbase bench`: one after the other, so that none disturbs the other."""
    claim = spec.dataset.claim_name
    dataset = _folder("/dataset", spec.dataset.folder) if claim else "builtin"
    claims = {"/dataset": claim} if claim else {}
    collection = ["--collection", spec.collection] if spec.collection else []
    language = ["--language", spec.language] if spec.language else []
    steps = []
    if spec.quality:
        args = ["eval", dataset, *collection, *language, *SUMMARY]
        steps.append(Step("quality", BENCHMARK, tuple(args), claims))
    if spec.latency:
        args = ["bench", dataset, *collection, "--requests", str(spec.requests)]
        args += ["--top-k", str(spec.top_k), *(["--rerank"] if spec.rerank else [])]
        args += [part for mode in spec.modes for part in ("--mode", mode)]
        args += [part for callers in spec.concurrency for part in ("--concurrency", str(callers))]
        steps.append(Step("latency", BENCHMARK, (*args, *SUMMARY), claims))
    return steps


def task_job(
    kind: str, task: Resource[Any], step: Step, ragbase: RagBase, inputs: Inputs
) -> Manifest:
    """The Job of a step. It belongs to the task, not to the RagBase, and goes with it."""
    spec = job_spec(
        ragbase,
        inputs,
        step.component,
        step.args,
        claims=step.claims,
        env=database_env(ragbase) if step.component != BENCHMARK else _client_env(ragbase),
        attempts=task.spec.retries,
        resources=task.spec.resources,
    )
    labels = {**labels_of(ragbase, step.component), OWNER_LABEL: task.uid}
    spec["template"]["metadata"]["labels"] |= labels
    spec["activeDeadlineSeconds"] = task.spec.timeout_seconds
    for container in spec["template"]["spec"]["containers"]:
        container["terminationMessagePolicy"] = "FallbackToLogsOnError"
    owner = {
        "apiVersion": API_VERSION,
        "kind": kind,
        "name": task.name,
        "uid": task.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    metadata = {
        "name": bounded(f"{task.name}-{step.name}"),
        "namespace": task.namespace,
        "labels": labels,
        "ownerReferences": [owner],
    }
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def _client_env(ragbase: RagBase) -> list[dict[str, Any]]:
    """The API's address and, where it asks for one, a key that may ingest."""
    env = plain({"RAGBASE_API_URL": api_url(ragbase)})
    auth = ragbase.spec.api.auth
    if auth.enabled:
        own = auth.existing_secret
        secret = own.name if own is not None else api_key_secret(ragbase.name)
        env.append(from_secret("RAGBASE_API_KEY", secret, "admin"))
    return env


def _folder(root: str, folder: str | None) -> str:
    return f"{root}/{folder}" if folder else root
