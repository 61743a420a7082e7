"""The API server's rules that the fake keeps: generations, status, names, and what is immutable."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ragbase_operator.models.manifest import Manifest

__all__ = ["complaints", "has_generation", "has_status", "is_built_in", "is_namespaced"]

WITHOUT_GENERATION = frozenset(
    {
        "ConfigMap",
        "Event",
        "HorizontalPodAutoscaler",
        "Lease",
        "Namespace",
        "PersistentVolumeClaim",
        "Role",
        "RoleBinding",
        "Secret",
        "Service",
        "ServiceAccount",
    }
)
"""Built-in kinds whose ``metadata.generation`` is not kept."""

WITHOUT_STATUS = frozenset(
    {"ConfigMap", "Event", "Lease", "NetworkPolicy", "Role", "RoleBinding", "Secret"}
    | {"ServiceAccount", "StorageClass"}
)

CLUSTER_SCOPED = frozenset(
    {"ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "Namespace", "Node"}
    | {"PersistentVolume", "PriorityClass", "StorageClass"}
)

MUTABLE = {
    "StatefulSet": frozenset(
        {
            "minReadySeconds",
            "ordinals",
            "persistentVolumeClaimRetentionPolicy",
            "replicas",
            "revisionHistoryLimit",
            "template",
            "updateStrategy",
        }
    ),
    "PersistentVolumeClaim": frozenset({"resources", "volumeAttributesClassName", "volumeName"}),
}
"""Members of ``spec`` that may change, of kinds where the others may not (k8s.io/kubernetes
pkg/apis/{apps,core}/validation)."""

IMMUTABLE = {
    "DaemonSet": frozenset({"selector"}),
    "Deployment": frozenset({"selector"}),
    "Job": frozenset({"completionMode", "selector", "template"}),
}
"""Members of ``spec`` that may not change, of kinds where the others may."""

NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
LABEL = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
LONGEST_NAME = 253
LONGEST_LABEL = 63


def is_built_in(api_version: str) -> bool:
    """Whether every cluster serves it: groups without a dot, and those of k8s.io."""
    group = api_version.rpartition("/")[0]
    return "." not in group or group.endswith(".k8s.io")


def is_namespaced(kind: str) -> bool:
    """Whether objects of a built-in kind live in a namespace."""
    return kind not in CLUSTER_SCOPED


def has_status(kind: str) -> bool:
    """Whether ``status`` is written by its subresource only."""
    return kind not in WITHOUT_STATUS


def has_generation(kind: str) -> bool:
    """Whether a change of anything but metadata and status counts up ``metadata.generation``."""
    return kind not in WITHOUT_GENERATION


def complaints(old: Manifest | None, new: Manifest) -> Iterator[str]:
    """Why the server would answer Invalid."""
    metadata = new["metadata"]
    name = metadata["name"]
    if not NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        yield f"metadata.name: Invalid value: {name!r}"
    for label, value in metadata.get("labels", {}).items():
        if not LABEL.fullmatch(value) or len(value) > LONGEST_LABEL:
            yield f"metadata.labels: Invalid value: {label}={value!r}"
    if old is not None:
        yield from forbidden_changes(new["kind"], old.get("spec", {}), new.get("spec", {}))


def forbidden_changes(kind: str, old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    """Changes of what is immutable."""
    changed = {name for name in old.keys() | new.keys() if old.get(name) != new.get(name)}
    forbidden = changed & IMMUTABLE.get(kind, frozenset())
    if kind in MUTABLE:
        forbidden |= changed - MUTABLE[kind]
    for name in sorted(forbidden):
        yield f"spec.{name}: Forbidden: may not be changed"
