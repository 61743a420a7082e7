"""The operator against a real API server, with resources that are well, unwell, done and failed."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from charts.monitoring.live.prometheus import Target
from charts.monitoring.live.stack import RAGBASE, START_S
from e2e.cluster import ControlPlane, find_binaries
from e2e.operator_kit import Harness, install_crds
from ragbase_operator.models.manifest import Manifest

__all__ = ["Played", "played_operator"]

_UNWELL: Final = "waits"


_QUICK: Final = {
    "RAGBASE_OPERATOR_HEARTBEAT_SECONDS": "2",
    "RAGBASE_OPERATOR_RESYNC_SECONDS": "5",  # by which a RagBase sees that it was backed up
}


@dataclass(frozen=True, slots=True)
class Played:
    """Where the operator's metrics are, and the namespace of its resources."""

    target: Target
    namespace: str


@asynccontextmanager
async def played_operator(
    folder: Path, summaries: Mapping[str, Mapping[str, Any]]
) -> AsyncIterator[Played]:
    """A RagBase that is Ready, one that waits for CloudNativePG; a backup and a benchmark that are
    done, and a backup that failed.

    ``summaries`` is what the Jobs hand over, by the last word of their command.
    """
    with ControlPlane(find_binaries()) as server:
        install_crds(server)
        namespace = server.create_namespace()
        harness = Harness(server, namespace, folder / "operator.log")
        try:
            await harness.start(**_QUICK)
            await harness.create({}, RAGBASE)
            await harness.create({"database": {"mode": "cnpg"}}, _UNWELL)
            await harness.until_ready(RAGBASE, START_S)
            await _tasks(harness, summaries)
            metrics = harness.ports()[1]
            labels = {"namespace": "ragbase-system", "pod": "ragbase-operator-0"}
            yield Played(Target(f"127.0.0.1:{metrics}", labels), namespace)
        finally:
            await harness.close()


async def _tasks(harness: Harness, summaries: Mapping[str, Mapping[str, Any]]) -> None:
    backup = {"ragbase": RAGBASE, "claimName": "backups"}
    harness.write("RagBaseBackup", "fine", {"spec": backup})
    harness.write("RagBaseBenchmark", "nightly", {"spec": {"ragbase": RAGBASE}})
    done = (("RagBaseBackup", "fine"), ("RagBaseBenchmark", "nightly"))
    await _until_true(harness, done, "Complete", lambda pod: _succeeded(pod, summaries))
    harness.write("RagBaseBackup", "broken", {"spec": backup})
    await _until_failed(harness, "broken")


async def _until_true(
    harness: Harness,
    tasks: Sequence[tuple[str, str]],
    condition: str,
    play: Callable[[Manifest], dict[str, Any]],
) -> None:
    def turn() -> bool:
        for pod in harness.list("Pod"):
            if _is_of_job(pod) and (pod.get("status") or {}).get("phase") == "Pending":
                harness.patch("Pod", pod["metadata"]["name"], {"status": play(pod)}, "/status")
        return all(
            harness.condition(condition, name, kind).get("status") == "True" for kind, name in tasks
        )

    await harness.until(turn, START_S)


async def _until_failed(harness: Harness, name: str) -> None:
    task = (("RagBaseBackup", name),)
    await _until_true(harness, task, "Failed", lambda pod: _status(pod, "Failed", 1, "no room"))


def _is_of_job(pod: Manifest) -> bool:
    return any(each["kind"] == "Job" for each in pod["metadata"].get("ownerReferences") or [])


def _succeeded(pod: Manifest, summaries: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    command = pod["spec"]["containers"][0]["args"][0]
    return _status(pod, "Succeeded", 0, json.dumps(summaries[command]))


def _status(pod: Manifest, phase: str, code: int, message: str) -> dict[str, Any]:
    container = pod["spec"]["containers"][0]["name"]
    ended = {"exitCode": code, "message": message, "reason": "Completed" if code == 0 else "Error"}
    return {
        "phase": phase,
        "containerStatuses": [
            {
                "name": container,
                "image": "",
                "imageID": "",
                "ready": False,
                "restartCount": 0,
                "state": {"terminated": ended},
            }
        ],
    }
