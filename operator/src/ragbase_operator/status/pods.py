"""What is wrong with a pod, read from its status."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ragbase_operator.models.manifest import Manifest
from ragbase_operator.status.faults import Fault, clipped
from ragbase_operator.status.placement import fault_of_placement
from ragbase_operator.status.reasons import Reason

__all__ = ["fault_of_pod"]

_PULL = frozenset(
    {
        "ImagePullBackOff",
        "ErrImagePull",
        "InvalidImageName",
        "ErrImageNeverPull",
        "RegistryUnavailable",
    }
)
_CONFIG = frozenset({"CreateContainerConfigError", "CreateContainerError", "RunContainerError"})


def fault_of_pod(pod: Manifest) -> Fault | None:
    """The first fault of a pod; None where it runs, or is merely on its way."""
    if pod["metadata"].get("deletionTimestamp"):
        return None
    placed = fault_of_placement(pod)
    if placed is not None:
        return placed
    name = pod["metadata"]["name"]
    for container in _containers(pod):
        fault = _fault_of_container(name, container)
        if fault is not None:
            return fault
    return None


def _containers(pod: Manifest) -> Iterator[Mapping[str, Any]]:
    status = pod.get("status") or {}
    yield from status.get("initContainerStatuses") or []
    yield from status.get("containerStatuses") or []


def _fault_of_container(pod: str, container: Mapping[str, Any]) -> Fault | None:
    state = container.get("state") or {}
    waiting = state.get("waiting") or {}
    reason, said = waiting.get("reason", ""), clipped(waiting.get("message") or "")
    if reason in _PULL:
        return Fault(
            Reason.IMAGE_PULL_FAILED,
            f"pod {pod}: image {container.get('image', '')}: {said or reason}; check its name, "
            "`imagePullSecrets` and that the node reaches the registry",
        )
    if reason in _CONFIG:
        return _config_fault(pod, said or reason)
    ended = state.get("terminated") or (container.get("lastState") or {}).get("terminated")
    if ended and ended.get("exitCode", 0) != 0 and not container.get("ready"):
        return _exit_fault(pod, container, ended)
    return None


def _config_fault(pod: str, said: str) -> Fault:
    """The kubelet says `couldn't find key K in Secret NS/N`, or `secret "N" not found`."""
    if "find key" in said:
        return Fault(Reason.SECRET_KEY_MISSING, f"pod {pod}: {said}; add the key")
    if "not found" in said and "secret" in said.lower():
        return Fault(Reason.SECRET_MISSING, f"pod {pod}: {said}; create the Secret")
    return Fault(
        Reason.CONTAINER_CONFIG, f"pod {pod}: {said}; check `env`, `envFrom` and `pod` of the spec"
    )


def _exit_fault(pod: str, container: Mapping[str, Any], ended: Mapping[str, Any]) -> Fault:
    name, code = container.get("name", ""), ended.get("exitCode")
    said = clipped(ended.get("message") or "")
    times = container.get("restartCount", 0)
    if ended.get("reason") == "OOMKilled":
        return Fault(
            Reason.OUT_OF_MEMORY,
            f"pod {pod}: {name} needed more than its memory limit ({times} restarts); raise "
            "`resources.limits.memory`",
        )
    if "max_map_count" in said:
        return Fault(
            Reason.MAP_COUNT,
            f"pod {pod}: {said}; set vm.max_map_count to at least 262144 on the node (see the "
            "prerequisites in docs/operator.md)",
        )
    return Fault(
        Reason.CRASH_LOOP,
        f"pod {pod}: {name} ended with exit code {code} ({ended.get('reason') or 'Error'}, {times} "
        f"restarts){': ' + said if said else ''}; see `kubectl logs {pod} -c {name} --previous`",
    )
