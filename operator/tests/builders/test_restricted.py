"""Every pod keeps the restricted pod security standard, checked by its own rules.

https://kubernetes.io/docs/concepts/security/pod-security-standards/
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from .found import Found

VOLUMES = {
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "persistentVolumeClaim",
    "projected",
    "secret",
}


def violations(spec: dict[str, Any]) -> list[str]:
    """What the restricted standard forbids in a pod."""
    found = [
        f"{field} is set" for field in ("hostNetwork", "hostPID", "hostIPC") if spec.get(field)
    ]
    security = spec.get("securityContext", {})
    for volume in spec.get("volumes", []):
        found += [f"volume {kind}" for kind in volume.keys() - {"name"} - VOLUMES]
    for container in [*spec.get("initContainers", []), *spec["containers"]]:
        found += _container(container, security)
    return found + (["sysctls"] if security.get("sysctls") else [])


def _container(container: dict[str, Any], pod: dict[str, Any]) -> list[str]:
    own = container.get("securityContext", {})
    both = {**pod, **own}
    capabilities = own.get("capabilities", {})
    rules = {
        "privileged": not own.get("privileged"),
        "privilege escalation": own.get("allowPrivilegeEscalation") is False,
        "capabilities": "ALL" in capabilities.get("drop", [])
        and set(capabilities.get("add", [])) <= {"NET_BIND_SERVICE"},
        "may be root": both.get("runAsNonRoot") is True and both.get("runAsUser") != 0,
        "seccomp": both.get("seccompProfile", {}).get("type") in {"RuntimeDefault", "Localhost"},
        "proc mount": own.get("procMount", "Default") == "Default",
        "host port": not any(port.get("hostPort") for port in container.get("ports", [])),
    }
    return [name for name, kept in rules.items() if not kept]


def test_pods_are_restricted(children: list[dict[str, Any]], found: Found) -> None:
    """Every pod, and beyond the standard: a read-only root, no token, no service links."""
    for name, template in found.templates(children):
        spec = template["spec"]
        assert violations(spec) == [], name
        assert spec["automountServiceAccountToken"] is False, name
        assert spec["enableServiceLinks"] is False, name
        assert "initContainers" not in spec, name
        for container in spec["containers"]:
            assert container["securityContext"]["readOnlyRootFilesystem"] is True, name
            assert "command" not in container, name
            assert container["terminationMessagePolicy"] == "FallbackToLogsOnError", name
            assert all(port["containerPort"] > 1024 for port in container.get("ports", [])), name


def test_what_is_mounted_is_a_volume(children: list[dict[str, Any]], found: Found) -> None:
    """Each mount has its volume, each volume its mount, and `/tmp` can be written."""
    for name, template in found.templates(children):
        (container,) = template["spec"]["containers"]
        mounts = container["volumeMounts"]
        volumes = template["spec"]["volumes"]
        assert sorted(m["name"] for m in mounts) == sorted(v["name"] for v in volumes), name
        assert "/tmp" in {m["mountPath"] for m in mounts}, name


def _spoil(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def spoil(spec: dict[str, Any]) -> None:
        part: Any = spec
        *parents, last = path.split(".")
        for step in parents:
            part = part[int(step)] if step.isdigit() else part[step]
        part[last] = value

    return spoil


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("hostNetwork", True),
        ("hostPID", True),
        ("securityContext.runAsUser", 0),
        ("securityContext.runAsNonRoot", False),
        ("securityContext.seccompProfile", {"type": "Unconfined"}),
        ("securityContext.sysctls", [{"name": "kernel.shm_rmid_forced", "value": "1"}]),
        ("containers.0.securityContext.privileged", True),
        ("containers.0.securityContext.allowPrivilegeEscalation", True),
        ("containers.0.securityContext.capabilities", {"drop": ["NET_RAW"]}),
        ("containers.0.securityContext.capabilities", {"drop": ["ALL"], "add": ["SYS_ADMIN"]}),
        ("containers.0.securityContext.procMount", "Unmasked"),
        ("containers.0.ports", [{"containerPort": 8000, "hostPort": 80}]),
        ("volumes", [{"name": "tmp", "hostPath": {"path": "/"}}]),
    ],
)
@pytest.mark.parametrize("source", ["sample-minimal"])
def test_a_spoilt_pod_is_seen(
    children: list[dict[str, Any]], found: Found, path: str, value: Any
) -> None:
    """The check above would notice."""
    spec = copy.deepcopy(next(t for name, t in found.templates(children) if name.endswith("-api")))
    _spoil(path, value)(spec["spec"])
    assert violations(spec["spec"])
