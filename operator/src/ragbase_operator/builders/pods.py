"""Pods: restricted security for all of them, and what a RagBase changes on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ragbase_operator.builders.environment import merged
from ragbase_operator.builders.labels import CONFIG_HASH, labels_of
from ragbase_operator.builders.names import digest
from ragbase_operator.builders.objects import canonical
from ragbase_operator.models.objects import RagBase
from ragbase_operator.models.pods import PodOverrides, Resources

__all__ = [
    "PRODUCT_USER",
    "Container",
    "Pod",
    "User",
    "config_hash",
    "empty_dir",
    "pod_template",
    "resource_fields",
]


@dataclass(frozen=True, slots=True)
class User:
    """Whom a pod runs as; never root."""

    uid: int
    gid: int
    fs_group: int | None = None
    """Group of its volumes, so that it can write there without an init container as root."""


PRODUCT_USER: Final = User(10001, 10001, 10001)


@dataclass(frozen=True, slots=True)
class Container:
    """The one container of a pod. All of its root file system is read-only but ``mounts``."""

    image: Mapping[str, Any]
    args: Sequence[str]
    resources: Mapping[str, Any]
    ports: Mapping[str, int] = field(default_factory=dict)
    env: Sequence[Mapping[str, Any]] = ()
    env_from: Sequence[Mapping[str, Any]] = ()
    mounts: Mapping[str, str] = field(default_factory=dict)
    """Path → name of the volume."""
    probes: Mapping[str, Any] = field(default_factory=dict)
    lifecycle: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod of a component."""

    component: str
    container: Container
    volumes: Sequence[Mapping[str, Any]] = ()
    user: User = PRODUCT_USER
    overrides: PodOverrides = field(default_factory=PodOverrides)
    config: str = ""
    """Hash of what it reads beside its own template; "" leaves the annotation out."""
    grace_seconds: int = 30
    restart: str | None = None
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: Sequence[Mapping[str, Any]] = ()
    spread: Sequence[Mapping[str, Any]] = ()


def empty_dir(name: str, **options: str) -> dict[str, Any]:
    """A volume that lives as long as its pod."""
    return {"name": name, "emptyDir": options}


def config_hash(*parts: object) -> str:
    """A hash that changes with any of the settings and Secrets that a pod reads."""
    return digest(canonical(parts), 16)


def resource_fields(resources: Resources, extra: Mapping[str, str] | None = None) -> dict[str, Any]:
    """`resources` of a container; ``extra`` are limits that are requested by being limits."""
    limits = {**resources.limits, **(extra or {})}
    found: dict[str, Any] = {}
    if resources.requests:
        found["requests"] = dict(resources.requests)
    if limits:
        found["limits"] = limits
    return found


def pod_template(ragbase: RagBase, pod: Pod) -> dict[str, Any]:
    """`template` of a workload."""
    overrides = pod.overrides
    annotations = dict(overrides.annotations)
    if pod.config:
        annotations[CONFIG_HASH] = pod.config
    metadata: dict[str, Any] = {"labels": {**overrides.labels, **labels_of(ragbase, pod.component)}}
    if annotations:
        metadata["annotations"] = annotations
    return {"metadata": metadata, "spec": _pod_spec(ragbase, pod)}


def _pod_spec(ragbase: RagBase, pod: Pod) -> dict[str, Any]:
    overrides = pod.overrides
    grace = overrides.termination_grace_period_seconds
    spread = overrides.topology_spread_constraints
    optional: dict[str, Any] = {
        "volumes": [dict(volume) for volume in pod.volumes],
        "imagePullSecrets": [{"name": ref.name} for ref in ragbase.spec.image_pull_secrets],
        "nodeSelector": {**pod.node_selector, **overrides.node_selector},
        "tolerations": [dict(t) for t in (*pod.tolerations, *overrides.tolerations)],
        "affinity": overrides.affinity,
        "topologySpreadConstraints": [dict(s) for s in (pod.spread if spread is None else spread)],
        "priorityClassName": overrides.priority_class_name,
        "runtimeClassName": overrides.runtime_class_name,
        "restartPolicy": pod.restart,
    }
    return {
        "enableServiceLinks": False,
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": pod.grace_seconds if grace is None else grace,
        "securityContext": _pod_security(pod.user, overrides.supplemental_groups),
        "containers": [_container(pod.container, pod.component, overrides)],
        **{name: value for name, value in optional.items() if value},
    }


def _pod_security(user: User, groups: Sequence[int]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "runAsNonRoot": True,
        "runAsUser": user.uid,
        "runAsGroup": user.gid,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    if user.fs_group is not None:
        found |= {"fsGroup": user.fs_group, "fsGroupChangePolicy": "OnRootMismatch"}
    if groups:
        found["supplementalGroups"] = list(groups)
    return found


def _container(container: Container, component: str, overrides: PodOverrides) -> dict[str, Any]:
    env_from = [*container.env_from, *overrides.env_from]
    optional: dict[str, Any] = {
        "ports": [{"name": name, "containerPort": port} for name, port in container.ports.items()],
        "env": merged(container.env, overrides.env),
        "envFrom": [dict(source) for source in env_from],
        "resources": dict(container.resources),
        "volumeMounts": [
            {"name": name, "mountPath": path} for path, name in container.mounts.items()
        ],
        "lifecycle": container.lifecycle,
    }
    return {
        "name": component if len(component) <= 63 else "main",
        **container.image,
        "args": list(container.args),
        # The last lines of a container that failed are then in the pod's status, for conditions.
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        **container.probes,
        **{name: value for name, value in optional.items() if value},
    }
