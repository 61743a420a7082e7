"""The RagBases of the scenarios: small, and otherwise as a user would write them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from e2e.scenarios.cluster import Cluster
from e2e.scenarios.kube import GROUP, Kube, Manifest, wait_for
from e2e.scenarios.times import Times

__all__ = ["MODEL", "claim", "ragbase", "ready", "task", "wait_gone"]

MODEL = "sentence-transformers/all-MiniLM-L6-v2"
READY_S = 600.0
"""Real images are pulled, and a model is fetched."""

SMALL: Mapping[str, Any] = {
    "database": {
        "storage": {"size": "1Gi"},
        "resources": {
            "requests": {"cpu": "100m", "memory": "256Mi"},
            "limits": {"memory": "512Mi"},
        },
    },
    "embeddings": {
        "model": MODEL,
        "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "1Gi"}},
    },
    "api": {"resources": {"requests": {"cpu": "50m", "memory": "192Mi"}}},
    "workers": {"resources": {"requests": {"cpu": "50m", "memory": "192Mi"}}},
}
"""What several stacks at once need to fit on one node of two cores."""


def ragbase(cluster: Cluster, name: str, namespace: str, **spec: Any) -> Manifest:
    """A RagBase with `SMALL`, the cluster's images, and what is given on top."""
    whole = merged(merged(SMALL, cluster.spec_of_images()), spec)
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": GROUP, "kind": "RagBase", "metadata": metadata, "spec": whole}


def task(kind: str, name: str, namespace: str, **spec: Any) -> Manifest:
    """A RagBaseBackup, -Restore or -Benchmark."""
    small = {"requests": {"cpu": "50m", "memory": "192Mi"}}
    return {
        "apiVersion": GROUP,
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"resources": small, **spec},
    }


def claim(name: str, namespace: str) -> Manifest:
    """A claim of the default StorageClass."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }


def ready(kube: Kube, name: str, namespace: str, times: Times | None = None) -> Manifest:
    """Wait until the RagBase's spec is Ready; its condition. ``times`` learns of each part."""

    def reached() -> bool:
        body = kube.get("RagBase", name, namespace) or {}
        status = body.get("status") or {}
        conditions = {each["type"]: each for each in status.get("conditions") or []}
        for kind, said in PARTS.items():
            if times and conditions.get(kind, {}).get("status") == "True":
                times.reached(said)
        found = conditions.get("Ready", {})
        seen = found.get("observedGeneration") == body["metadata"]["generation"]
        return bool(seen and found["status"] == "True")

    wait_for(reached, READY_S, lambda: kube.story(namespace, "RagBase", name))
    return kube.condition("RagBase", name, namespace, "Ready")


PARTS = {
    "EmbeddingsReady": "embedding server ready",
    "DatabaseReady": "database ready",
    "SchemaReady": "schema migrated",
    "WorkersReady": "worker ready",
    "ApiReady": "API ready",
    "Ready": "RagBase Ready: the operator's own search answers",
}
"""Conditions on the way, and what each means."""


def wait_gone(kube: Kube, kind: str, name: str, namespace: str, timeout_s: float = 120) -> None:
    """Wait until an object is gone, finalizers and all."""
    wait_for(
        lambda: kube.get(kind, name, namespace) is None,
        timeout_s,
        lambda: kube.story(namespace, kind, name),
    )


def merged(base: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """``base`` with ``more`` on top, maps into maps."""
    result = dict(base)
    for key, value in more.items():
        old = result.get(key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        result[key] = merged(old, value) if both else value  # type: ignore[arg-type]  # both say so
    return result
