"""Labels, annotations and owner references of the children of a RagBase."""

from __future__ import annotations

from typing import Any

from ragbase_operator.builders.names import label_value
from ragbase_operator.models.kinds import API_VERSION
from ragbase_operator.models.manifest import Manifest
from ragbase_operator.models.objects import RagBase

__all__ = [
    "COMPONENT_LABEL",
    "CONFIG_HASH",
    "FIELD_MANAGER",
    "MIGRATION_HASH",
    "OWNER_LABEL",
    "component_of",
    "instance_of",
    "labels_of",
    "owner_labels",
    "owner_of",
    "owner_reference",
    "selector_of",
]

FIELD_MANAGER = "ragbase-operator"
COMPONENT_LABEL = "app.kubernetes.io/component"
INSTANCE_LABEL = "app.kubernetes.io/instance"
OWNER_LABEL = "ragbase.dev/owner"
"""On every child, with the uid of its RagBase: what list and prune go by."""
CONFIG_HASH = "ragbase.dev/config-hash"
"""Annotation of pods: of the settings and Secrets they read, so that a change rolls them."""
MIGRATION_HASH = "ragbase.dev/migration-hash"
"""Label of a migration Job: what it migrates to."""


def selector_of(ragbase: RagBase, component: str) -> dict[str, str]:
    """The labels that select the pods of a component; they never change."""
    return {
        "app.kubernetes.io/name": "ragbase",
        INSTANCE_LABEL: label_value(ragbase.name),
        COMPONENT_LABEL: component,
    }


def labels_of(ragbase: RagBase, component: str) -> dict[str, str]:
    """All labels of a child."""
    return {
        **selector_of(ragbase, component),
        "app.kubernetes.io/part-of": "ragbase",
        "app.kubernetes.io/managed-by": "ragbase-operator",
        OWNER_LABEL: ragbase.uid,
    }


def owner_labels(ragbase: RagBase) -> dict[str, str]:
    """What all children of a RagBase have, and nothing else has."""
    return {OWNER_LABEL: ragbase.uid}


def owner_reference(ragbase: RagBase) -> dict[str, Any]:
    """The reference by which the garbage collector removes a child with its RagBase."""
    return {
        "apiVersion": API_VERSION,
        "kind": "RagBase",
        "name": ragbase.name,
        "uid": ragbase.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def component_of(manifest: Manifest) -> str:
    """The component a child belongs to, as its label says; "" where it has none."""
    labels: dict[str, str] = manifest["metadata"].get("labels") or {}
    return labels.get(COMPONENT_LABEL, "")


def owner_of(manifest: Manifest) -> str | None:
    """The uid in the owner label; None where it is no child."""
    labels: dict[str, str] = manifest["metadata"].get("labels") or {}
    return labels.get(OWNER_LABEL)


def instance_of(manifest: Manifest) -> str | None:
    """The name of the RagBase in a child's label, as `names.label_value` made it."""
    labels: dict[str, str] = manifest["metadata"].get("labels") or {}
    return labels.get(INSTANCE_LABEL)
