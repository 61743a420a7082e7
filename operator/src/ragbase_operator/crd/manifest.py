"""A CustomResourceDefinition out of the models of a kind."""

from __future__ import annotations

from typing import Any

from ragbase_operator.crd.columns import columns, scale
from ragbase_operator.crd.defaults import filled
from ragbase_operator.crd.schema import Schema, structural
from ragbase_operator.models.kinds import GROUP, VERSION, Kind
from ragbase_operator.models.manifest import Manifest

__all__ = ["CATEGORY", "definition"]

CATEGORY = "retrieval"
"""``kubectl get retrieval`` lists all kinds. Not `all`: ``kubectl delete all --all`` would delete
them; nor `ragbase`: kubectl would take it for the category where the kind is meant."""
_WHERE_TO_READ: dict[str, Schema] = {
    "apiVersion": {"type": "string", "description": "Version of this kind of object."},
    "kind": {"type": "string", "description": "Kind of this object."},
    "metadata": {"type": "object"},
}


def definition(kind: Kind) -> Manifest:
    """The CustomResourceDefinition of ``kind``."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "names": {
                "kind": kind.name,
                "listKind": f"{kind.name}List",
                "plural": kind.plural,
                "singular": kind.name.lower(),
                "shortNames": [kind.short],
                "categories": [CATEGORY],
            },
            "scope": "Namespaced",
            "versions": [_version(kind)],
        },
    }


def _version(kind: Kind) -> dict[str, Any]:
    subresources: dict[str, Any] = {"status": {}}
    pods = scale(kind)
    if pods is not None:
        subresources["scale"] = pods
    return {
        "name": VERSION,
        "served": True,
        "storage": True,
        "subresources": subresources,
        "additionalPrinterColumns": [column.as_json() for column in columns(kind)],
        "schema": {"openAPIV3Schema": _root(kind)},
    }


def _root(kind: Kind) -> Schema:
    spec, status = structural(kind.spec), structural(kind.status)
    root: Schema = {
        "type": "object",
        "description": spec["description"],
        "properties": {**_WHERE_TO_READ, "spec": spec, "status": status},
    }
    if "required" in spec:
        root["required"] = ["spec"]
    else:
        spec["default"] = filled({}, spec)
    return root
