"""A custom resource with the shapes that apply treats differently: maps, an atom, a list map."""

from __future__ import annotations

from typing import Any

from ragbase_operator.models.manifest import Manifest

__all__ = ["API_VERSION", "CRD", "widget"]

GROUP = "tests.ragbase.invalid"
API_VERSION = f"{GROUP}/v1"

TEXT = {"type": "string"}
PAIR = {"type": "object", "properties": {"p": TEXT, "q": TEXT}}
SPEC = {
    "type": "object",
    "properties": {
        "size": {"type": "integer", "maximum": 100},
        "settings": {"type": "object", "properties": {"a": PAIR, "b": PAIR}},
        "tags": {"type": "array", "items": TEXT},
        "env": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": TEXT, "value": TEXT, "note": TEXT},
            },
        },
    },
}
STATUS = {
    "type": "object",
    "properties": {
        "phase": TEXT,
        "conditions": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["type"],
            "items": {
                "type": "object",
                "required": ["type"],
                "properties": {"type": TEXT, "status": TEXT},
            },
        },
    },
}

CRD: Manifest = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"widgets.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {"spec": SPEC, "status": STATUS},
                    }
                },
            }
        ],
    },
}


def widget(namespace: str, name: str = "one", *, labels: Any = None, **spec: Any) -> Manifest:
    """A widget as its owner applies it."""
    metadata = {"name": name, "namespace": namespace}
    if labels is not None:
        metadata["labels"] = labels
    return {"apiVersion": API_VERSION, "kind": "Widget", "metadata": metadata, "spec": spec}
