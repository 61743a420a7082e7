"""Backups, restores and benchmarks: their Jobs, what these hand over, and the status."""

from __future__ import annotations

import json
from typing import Any

from ragbase_operator.cluster.fake import FakeCluster
from ragbase_operator.models.manifest import Manifest, Ref
from ragbase_operator.reconcile.memory import Memory
from ragbase_operator.reconcile.task import reconcile_task

from .stage import API_VERSION, NAMESPACE, Stage, ref

RUN = {
    "mode": "hybrid",
    "concurrency": 1,
    "p50": 10.0,
    "p95": 20.0,
    "p99": 30.0,
    "qps": 90.5,
    "failed": 2,
    "degraded": 0,
}
MODE = {"mode": "hybrid", "measures": {"nDCG@10": 0.5}, "queries": 40, "failed": 1, "degraded": 0}


class TaskStage(Stage):
    """A ready RagBase, and one task."""

    kind: str

    async def task(self, kind: str, spec: dict[str, Any]) -> None:
        await self.settle()
        self.kind = kind
        self.task_memory = Memory()
        await self.cluster.apply(
            {
                "apiVersion": API_VERSION,
                "kind": kind,
                "metadata": {"name": "one", "namespace": NAMESPACE},
                "spec": {"ragbase": "kb", **spec},
            }
        )

    @property
    def task_body(self) -> Manifest:
        found = self.cluster.get(Ref(API_VERSION, self.kind, NAMESPACE, "one"))
        assert found is not None
        return found

    async def step(self) -> dict[str, Any]:
        await reconcile_task(self.task_body, self.context, self.task_memory)
        status: dict[str, Any] = self.task_body["status"]
        return status

    def end(self, job: str, summary: dict[str, Any], outcome: str = "Complete") -> None:
        """The Job ends, its pod with ``summary`` as its last words."""
        found = self.child("Job", job)
        status = {"conditions": [{"type": outcome, "status": "True"}]}
        self.cluster.edit(ref(found), lambda each: each.update(status=status))
        _pod(self.cluster, found, json.dumps(summary))


def _pod(cluster: FakeCluster, job: Manifest, message: str) -> None:
    name = job["metadata"]["name"]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{name}-x",
            "namespace": NAMESPACE,
            "labels": {
                "job-name": name,
                "ragbase.dev/owner": job["metadata"]["labels"]["ragbase.dev/owner"],
            },
        },
        "spec": {},
    }
    cluster._store.put(
        {
            **pod,
            "status": {
                "containerStatuses": [{"name": "m", "state": {"terminated": {"message": message}}}]
            },
        }
    )


def _condition(status: dict[str, Any], kind: str) -> tuple[str, str]:
    found = next(each for each in status["conditions"] if each["type"] == kind)
    return found["status"], found["reason"]


async def test_a_backup_tells_where_it_is_and_what_is_in_it() -> None:
    stage = TaskStage()
    await stage.task("RagBaseBackup", {"claimName": "shelf", "keep": 3})
    status = await stage.step()
    assert _condition(status, "Complete") == ("False", "Running")
    job = stage.child("Job", "one-backup")
    pod = job["spec"]["template"]["spec"]
    assert "--keep" in pod["containers"][0]["args"]
    assert "shelf" in str(pod["volumes"])
    assert job["metadata"]["ownerReferences"][0]["kind"] == "RagBaseBackup"
    stage.end(
        "one-backup",
        {"path": "/backup/20261130T020000Z", "bytes": 7, "documents": 3, "chunks": 9},
    )
    status = await stage.step()
    assert _condition(status, "Complete") == ("True", "Succeeded")
    assert (status["path"], status["bytes"], status["claimName"]) == (
        "20261130T020000Z",
        7,
        "shelf",
    )
    await stage.run()
    assert stage.body["status"]["lastBackup"] == status["completionTime"]


async def test_a_pass_over_the_ragbase_leaves_the_jobs_of_its_tasks() -> None:
    stage = TaskStage()
    await stage.task("RagBaseBackup", {"claimName": "shelf"})
    await stage.step()
    await stage.run()
    assert stage.child("Job", "one-backup")


async def test_a_failed_job_is_told_and_not_started_again() -> None:
    stage = TaskStage()
    await stage.task("RagBaseBackup", {"claimName": "shelf"})
    await stage.step()
    stage.end("one-backup", {"error": "no space left"}, "Failed")
    status = await stage.step()
    assert _condition(status, "Failed") == ("True", "JobFailed")
    assert "no space left" in status["conditions"][0]["message"]
    await stage.cluster.delete(ref(stage.child("Job", "one-backup")))
    await stage.step()
    assert [each for each in stage.all("Job") if each["metadata"]["name"] == "one-backup"] == []


async def test_what_is_missing_is_named() -> None:
    stage = TaskStage()
    await stage.task("RagBaseRestore", {"backup": "none"})
    assert _condition(await stage.step(), "Complete") == ("False", "BackupAbsent")
    await stage.task("RagBaseBackup", {})
    assert _condition(await stage.step(), "Complete") == ("False", "NoClaim")
    await stage.task("RagBaseBackup", {"ragbase": "other"})
    assert _condition(await stage.step(), "Complete") == ("False", "RagBaseAbsent")


async def test_a_benchmark_waits_runs_quality_then_latency_and_keeps_both() -> None:
    stage = TaskStage()
    await stage.task("RagBaseBenchmark", {})
    await stage.step()
    names = {each["metadata"]["name"] for each in stage.all("Job")}
    assert "one-quality" in names
    assert "one-latency" not in names
    stage.end("one-quality", {"dataset": "builtin", "modes": [MODE]})
    await stage.step()
    stage.end("one-latency", {"dataset": "builtin", "runs": [RUN]})
    status = await stage.step()
    assert _condition(status, "Complete") == ("True", "Succeeded")
    assert status["quality"][0]["ndcg10"] == 0.5
    assert status["latency"][0]["p99Ms"] == 30.0
    assert (status["errors"], status["dataset"]) == (3, "builtin")


async def test_a_benchmark_waits_for_a_ragbase_that_is_ready() -> None:
    stage = TaskStage()
    await stage.task("RagBaseBenchmark", {})
    stage.edit_spec(database={"mode": "cnpg"})
    await stage.run()
    assert _condition(await stage.step(), "Complete") == ("False", "WaitingForRagBase")


async def test_the_job_of_an_earlier_task_of_the_name_is_waited_for() -> None:
    """It was deleted and made anew before the garbage collector came by."""
    stage = TaskStage()
    await stage.task("RagBaseBackup", {"claimName": "shelf"})
    await stage.step()
    stage.end("one-backup", {"path": "/backup/old"})
    await stage.step()
    old = stage.child("Job", "one-backup")["metadata"]["uid"]
    stage.cluster._store._objects.pop(Ref(API_VERSION, "RagBaseBackup", NAMESPACE, "one"))
    await stage.task("RagBaseBackup", {"claimName": "shelf"})
    status = await stage.step()
    assert _condition(status, "Complete") == ("False", "NameTaken")
    assert _condition(status, "Failed")[0] == "False"
    assert stage.child("Job", "one-backup")["metadata"]["uid"] == old
    await stage.cluster.delete(ref(stage.child("Job", "one-backup")))
    assert _condition(await stage.step(), "Complete") == ("False", "Running")


async def test_rows_that_did_not_fit_into_the_message_are_told() -> None:
    """A termination message has 4,096 bytes."""
    stage = TaskStage()
    await stage.task("RagBaseBenchmark", {"quality": False})
    await stage.step()
    stage.end("one-latency", {"dataset": "builtin", "runs": [RUN], "omitted": 7})
    status = await stage.step()
    complete = next(each for each in status["conditions"] if each["type"] == "Complete")
    assert complete["message"] == "done; 7 rows of the result are in the Job's log only"
    assert len(status["latency"]) == 1
