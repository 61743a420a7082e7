"""Deployments, StatefulSets, Services: the frames around a pod."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ragbase_operator.builders.labels import selector_of
from ragbase_operator.builders.names import WORKLOAD_LIMIT, child
from ragbase_operator.builders.objects import child_object
from ragbase_operator.builders.pods import Pod, pod_template
from ragbase_operator.models.manifest import Manifest
from ragbase_operator.models.objects import RagBase

__all__ = ["RECREATE", "REPLACE_IN_PLACE", "deployment", "service", "single", "spread_over_nodes"]

RECREATE: Final[Mapping[str, Any]] = {"type": "Recreate"}
"""For pods whose volume only one of them can have."""
REPLACE_IN_PLACE: Final[Mapping[str, Any]] = {
    "type": "RollingUpdate",
    "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1},
}
"""For pods on a GPU: there may be none left for a pod more."""


def deployment(
    ragbase: RagBase,
    pod: Pod,
    replicas: int | None,
    strategy: Mapping[str, Any] | None = None,
) -> Manifest:
    """A Deployment; ``replicas`` None leaves their number to somebody else."""
    spec: dict[str, Any] = {
        "selector": {"matchLabels": selector_of(ragbase, pod.component)},
        "template": pod_template(ragbase, pod),
    }
    if replicas is not None:
        spec["replicas"] = replicas
    if strategy is not None:
        spec["strategy"] = dict(strategy)
    name = child(ragbase.name, pod.component)
    return child_object(ragbase, ("apps/v1", "Deployment"), name, pod.component, {"spec": spec})


def single(ragbase: RagBase, pod: Pod) -> Manifest:
    """A StatefulSet of one pod: never two of them on the same data."""
    spec = {
        "replicas": 1,
        "serviceName": child(ragbase.name, pod.component),
        "selector": {"matchLabels": selector_of(ragbase, pod.component)},
        "template": pod_template(ragbase, pod),
    }
    name = child(ragbase.name, pod.component, WORKLOAD_LIMIT)
    return child_object(ragbase, ("apps/v1", "StatefulSet"), name, pod.component, {"spec": spec})


def service(ragbase: RagBase, component: str, ports: Mapping[str, tuple[int, str]]) -> Manifest:
    """A Service; ``ports``: name → its port, and the name of the container's."""
    spec = {
        "selector": selector_of(ragbase, component),
        "ports": [
            {"name": name, "port": port, "targetPort": target, "protocol": "TCP"}
            for name, (port, target) in ports.items()
        ],
    }
    name = child(ragbase.name, component)
    return child_object(ragbase, ("v1", "Service"), name, component, {"spec": spec})


def spread_over_nodes(ragbase: RagBase, component: str) -> list[dict[str, Any]]:
    """Replicas on different nodes where that can be had."""
    return [
        {
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": selector_of(ragbase, component)},
        }
    ]
