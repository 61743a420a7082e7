"""Reasons read from pods and claims, each with its next step."""

from __future__ import annotations

from typing import Any

import pytest

from ragbase_operator.status.claims import fault_of_claim
from ragbase_operator.status.pods import fault_of_pod
from ragbase_operator.status.reasons import Reason

GPU = {"resources": {"limits": {"amd.com/gpu": "1"}}}


def _pod(status: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": {"containers": [GPU], **spec}, "status": status}


def _unplaced(message: str, **spec: Any) -> dict[str, Any]:
    condition = {"type": "PodScheduled", "status": "False", "message": message}
    return _pod({"conditions": [condition]}, **spec)


def _waiting(reason: str, message: str = "") -> dict[str, Any]:
    waiting = {"waiting": {"reason": reason, "message": message}}
    return _pod({"containerStatuses": [{"name": "main", "image": "i:1", "state": waiting}]})


def _ended(reason: str, code: int, message: str = "") -> dict[str, Any]:
    ended = {"terminated": {"reason": reason, "exitCode": code, "message": message}}
    container = {"name": "main", "restartCount": 4, "state": {}, "lastState": ended}
    return _pod({"containerStatuses": [container]})


@pytest.mark.parametrize(
    ("pod", "reason", "step"),
    [
        (_unplaced("0/1 nodes: 1 Insufficient amd.com/gpu."), Reason.NO_GPU, "device plugin"),
        (
            _unplaced(
                "1 node(s) didn't match Pod's node affinity/selector", nodeSelector={"a": "b"}
            ),
            Reason.NO_GPU,
            "gpu.nodeSelector",
        ),
        (_unplaced("0/1 nodes: 1 Insufficient memory."), Reason.NO_ROOM, "resources.requests"),
        (_unplaced("1 node(s) had untolerated taint {x: y}"), Reason.TAINTED, "tolerations"),
        (
            _unplaced("pod has unbound immediate PersistentVolumeClaims"),
            Reason.VOLUME_PENDING,
            "claims",
        ),
        (_waiting("ImagePullBackOff", "not found"), Reason.IMAGE_PULL_FAILED, "imagePullSecrets"),
        (_waiting("InvalidImageName"), Reason.IMAGE_PULL_FAILED, "check its name"),
        (
            _waiting("CreateContainerConfigError", "couldn't find key uri in Secret ns/pg"),
            Reason.SECRET_KEY_MISSING,
            "add the key",
        ),
        (
            _waiting("CreateContainerConfigError", 'secret "pg" not found'),
            Reason.SECRET_MISSING,
            "create the Secret",
        ),
        (_ended("OOMKilled", 137), Reason.OUT_OF_MEMORY, "limits.memory"),
        (_ended("Error", 1, "bad DATABASE_URL"), Reason.CRASH_LOOP, "bad DATABASE_URL"),
        (_ended("Error", 1, "vm.max_map_count is too low"), Reason.MAP_COUNT, "262144"),
    ],
)
def test_a_pods_fault_names_reason_and_next_step(
    pod: dict[str, Any], reason: Reason, step: str
) -> None:
    """B103."""
    fault = fault_of_pod(pod)
    assert fault is not None
    assert fault.reason is reason
    assert step in fault.message


def test_a_pod_on_its_way_has_no_fault() -> None:
    assert fault_of_pod(_waiting("ContainerCreating")) is None
    assert fault_of_pod(_pod({"phase": "Pending"})) is None


def test_claims() -> None:
    pending: dict[str, Any] = {
        "metadata": {"name": "c", "uid": "u"},
        "spec": {},
        "status": {"phase": "Pending"},
    }
    fault = fault_of_claim(pending)
    assert fault is not None
    assert fault.reason is Reason.NO_STORAGE_CLASS
    classed = {**pending, "spec": {"storageClassName": "fast"}}
    assert fault_of_claim(classed) is None
    event = {
        "involvedObject": {"uid": "u"},
        "type": "Warning",
        "message": 'storageclass.storage.k8s.io "fast" not found',
    }
    absent = fault_of_claim(classed, [event])
    assert absent is not None
    assert absent.reason is Reason.STORAGE_CLASS_ABSENT
