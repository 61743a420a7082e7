"""Why no node takes a pod, read from what the scheduler says of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ragbase_operator.models.manifest import Manifest
from ragbase_operator.status.faults import Fault, clipped
from ragbase_operator.status.reasons import Reason

__all__ = ["device_requests", "fault_of_placement"]

_INSUFFICIENT = re.compile(r"Insufficient ([A-Za-z0-9./_-]*[A-Za-z0-9])")
_NATIVE = ("kubernetes.io/", "hugepages-", "attachable-volumes-")


def fault_of_placement(pod: Manifest) -> Fault | None:
    """The fault of a pod that the scheduler cannot place; None of any other."""
    for condition in (pod.get("status") or {}).get("conditions") or []:
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return _fault(pod, clipped(condition.get("message") or ""))
    return None


def device_requests(pod: Manifest) -> dict[str, str]:
    """Extended resources that the pod asks for, such as ``{"amd.com/gpu": "1"}``."""
    found: dict[str, str] = {}
    for container in pod["spec"].get("containers") or []:
        resources: Mapping[str, Any] = container.get("resources") or {}
        for name, amount in {
            **(resources.get("limits") or {}),
            **(resources.get("requests") or {}),
        }.items():
            if "/" in name and not name.startswith(_NATIVE):
                found[name] = str(amount)
    return found


def _fault(pod: Manifest, said: str) -> Fault:
    name, devices = pod["metadata"]["name"], device_requests(pod)
    short = set(_INSUFFICIENT.findall(said))
    if "PersistentVolumeClaim" in said or "persistentvolumeclaim" in said:
        return Fault(Reason.VOLUME_PENDING, f"pod {name}: {said}; see the claims of this RagBase")
    for device in sorted(short & set(devices)):
        return Fault(
            Reason.NO_GPU,
            f"pod {name}: no node has {devices[device]} free {device} ({said}); install the "
            "vendor's device plugin, free a GPU, or change `gpu.resourceName` and `gpu.count`",
        )
    if "node affinity/selector" in said:
        return _selector_fault(name, pod, devices, said)
    if short:
        return Fault(
            Reason.NO_ROOM,
            f"pod {name}: {said}; add nodes, or lower `resources.requests`",
        )
    if "untolerated taint" in said:
        return Fault(Reason.TAINTED, f"pod {name}: {said}; add `tolerations`, or remove the taint")
    return Fault(Reason.UNSCHEDULABLE, f"pod {name}: {said or 'no node takes it'}")


def _selector_fault(name: str, pod: Manifest, devices: Mapping[str, str], said: str) -> Fault:
    selector = pod["spec"].get("nodeSelector") or {}
    wanted = (
        ", ".join(f"{key}={value}" for key, value in sorted(selector.items())) or "its affinity"
    )
    if devices:
        return Fault(
            Reason.NO_GPU,
            f"pod {name}: no node that can take it is labelled {wanted} ({said}); run node feature "
            "discovery, label the GPU nodes, or change `gpu.nodeSelector`",
        )
    return Fault(
        Reason.NO_NODE,
        f"pod {name}: no node matches {wanted} ({said}); label a node, or change `nodeSelector` "
        "and `affinity`",
    )
