"""Rendered objects: where the API server keeps them, the pods in them, and how they are tried."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from e2e.cluster import ControlPlane
from ragbase_operator.rbac.rules import plural

__all__ = ["CHARTS", "apply", "in_namespace", "path_of", "pods_of", "values_files"]

CHARTS = Path(__file__).parents[1]
CLUSTER_WIDE = {
    "ClusterRole",
    "ClusterRoleBinding",
    "CustomResourceDefinition",
    "Namespace",
    "StorageClass",
}
Manifest = dict[str, Any]


def values_files() -> list[Path]:
    """Each ``charts/*/ci/*-values.yaml``."""
    return sorted(CHARTS.glob("*/ci/*-values.yaml"))


def in_namespace(manifest: Manifest, namespace: str) -> Manifest:
    """The object where it says, or in ``namespace`` where it does not, as Helm applies it."""
    if manifest["kind"] in CLUSTER_WIDE:
        return manifest
    metadata = {"namespace": namespace, **manifest["metadata"]}
    return {**manifest, "metadata": metadata}


def path_of(manifest: Manifest) -> str:
    """The path of an object at the API server."""
    version, kind = manifest["apiVersion"], manifest["kind"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    metadata = manifest["metadata"]
    scope = f"/namespaces/{metadata['namespace']}" if "namespace" in metadata else ""
    return f"{root}{scope}/{plural(kind)}/{metadata['name']}"


def apply(server: ControlPlane, manifest: Manifest, more: str = "") -> Any:
    """Server-side apply with unknown fields refused; the answer."""
    return server.request(
        "PATCH",
        f"{path_of(manifest)}?fieldManager=helm&force=true&fieldValidation=Strict{more}",
        manifest,
        content_type="application/apply-patch+yaml",
    )


def pods_of(objects: list[Manifest]) -> Iterator[tuple[str, Manifest]]:
    """Name and pod (metadata, spec) of everything that runs one."""
    for each in objects:
        name = f"{each['kind']} {each['metadata']['name']}"
        if each["kind"] == "Pod":
            yield name, {"metadata": each["metadata"], "spec": each["spec"]}
        elif "template" in each.get("spec", {}):
            yield name, each["spec"]["template"]
