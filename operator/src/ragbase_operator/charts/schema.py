"""``values.schema.json``: JSON schemas of the charts' values, closed wherever we know the fields.

Helm checks all values by it (Draft 2020-12), with the defaults filled in; a field that is not
known, of another type or out of bounds is refused with its path.
"""

from __future__ import annotations

from typing import Any

from ragbase_operator.crd.schema import Schema, structural
from ragbase_operator.models.base import Part

__all__ = ["as_json_schema", "values_schema"]

DRAFT = "https://json-schema.org/draft/2020-12/schema"
_ONLY_KUBERNETES = "x-kubernetes-"


def values_schema(model: type[Part], title: str, **replaced: Schema) -> Schema:
    """The schema of a chart's values; ``replaced`` are fields whose schema is given.

    Every field of ours must be there: a default that somebody removes by ``null`` is an error
    that names it, and never a template that fails or something that is switched on unseen.
    """
    body = as_json_schema(structural(model), whole=True)
    body["properties"] |= replaced
    body["properties"]["global"] = {
        "type": "object",
        "description": "What a parent chart shares with all of its own; nothing here reads it.",
    }
    return {"$schema": DRAFT, "title": title, **body}


def as_json_schema(schema: Schema, *, whole: bool = False) -> Schema:
    """A structural schema as JSON schema: closed, without Kubernetes' own keywords.

    ``whole``: all fields that have a name are required.
    """
    if schema.get("x-kubernetes-int-or-string"):
        return _quantity(schema)
    found = {k: v for k, v in schema.items() if not k.startswith(_ONLY_KUBERNETES)}
    if "items" in schema:
        found["items"] = as_json_schema(schema["items"])
    values = schema.get("additionalProperties")
    if isinstance(values, dict):
        found["additionalProperties"] = as_json_schema(values)
    if "properties" in schema:
        found["properties"] = {
            name: as_json_schema(each, whole=whole) for name, each in schema["properties"].items()
        }
        found.pop("default", None)  # it follows from those of the properties
        if whole:
            found["required"] = list(schema["properties"])
        if not schema.get("x-kubernetes-preserve-unknown-fields"):
            found["additionalProperties"] = False
    return found


def _quantity(schema: Schema) -> Schema:
    """A number or a text: each keyword of the schema is about one of the two."""
    kept: dict[str, Any] = {
        k: v for k, v in schema.items() if not k.startswith(_ONLY_KUBERNETES) and k != "anyOf"
    }
    return {**kept, "type": ["integer", "string"]}
