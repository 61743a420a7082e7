"""Claims of volumes: objects of their own, so that they can grow and outlive their workload."""

from __future__ import annotations

from typing import Any

from ragbase_operator.builders.names import claim
from ragbase_operator.builders.objects import child_object
from ragbase_operator.models.manifest import Manifest
from ragbase_operator.models.objects import RagBase
from ragbase_operator.models.pods import Volume

__all__ = ["claim_object", "claim_volume", "data_claim"]


def claim_object(ragbase: RagBase, name: str, component: str, storage: Volume) -> Manifest:
    """A claim for one node. A larger size grows the volume where its class allows that."""
    spec: dict[str, Any] = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": storage.size}},
    }
    if storage.storage_class_name is not None:
        spec["storageClassName"] = storage.storage_class_name
    kind = ("v1", "PersistentVolumeClaim")
    return child_object(ragbase, kind, name, component, {"spec": spec})


def data_claim(ragbase: RagBase, component: str, storage: Volume) -> Manifest:
    """The claim of a database's data."""
    return claim_object(ragbase, claim(ragbase.name, component), component, storage)


def claim_volume(name: str, claim_name: str) -> dict[str, Any]:
    """A pod's volume on a claim."""
    return {"name": name, "persistentVolumeClaim": {"claimName": claim_name}}
