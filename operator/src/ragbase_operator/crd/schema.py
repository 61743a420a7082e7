"""From a pydantic model to a structural OpenAPI v3 schema, as CRDs want it.

What "structural" asks for: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ragbase_operator.crd.defaults import default_of
from ragbase_operator.models.base import Part, Rule

__all__ = ["Schema", "structural"]

Schema = dict[str, Any]

_KEPT = (
    "description",
    "type",
    "format",
    "enum",
    "pattern",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "anyOf",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
)
"""Keywords that mean the same in JSON schema and here, in the order in which they are written."""
_HANDLED = frozenset(
    {"$ref", "title", "default", "properties", "required", "items", "additionalProperties"}
)


def structural(model: type[Part]) -> Schema:
    """The schema of ``model`` without references, with its defaults and CEL rules.

    Raises ValueError on a keyword that has no place in a structural schema.
    """
    body = model.model_json_schema(by_alias=True)
    return _Inliner(body.pop("$defs", {})).of_model(model, body)


class _Inliner:
    """Turns references into what they refer to."""

    def __init__(self, definitions: dict[str, Schema]) -> None:
        self._definitions = definitions
        self._models = {model.__name__: model for model in _below(Part)}

    def of_model(self, model: type[Part], body: Schema) -> Schema:
        schema = self._of(body)
        for field in model.model_fields.values():
            each = schema["properties"][field.alias]
            default = default_of(field, each)
            if default is not None:
                each["default"] = default
        if model.rules:
            schema["x-kubernetes-validations"] = [_rule(rule) for rule in model.rules]
        return schema

    def _of(self, body: Schema) -> Schema:
        if "$ref" in body:
            return self._referred(body)
        if {"type": "null"} in body.get("anyOf", ()):
            return self._optional(body)
        unknown = body.keys() - _HANDLED - set(_KEPT)
        if unknown:
            raise ValueError(f"a structural schema has no {sorted(unknown)}: {body}")
        schema = {key: body[key] for key in _KEPT if key in body}
        if "items" in body:
            schema["items"] = self._of(body["items"])
        return schema | self._object(body)

    def _object(self, body: Schema) -> Schema:
        """The keywords of an object."""
        schema: Schema = {}
        if "properties" in body:
            schema["properties"] = {
                name: self._of(each) for name, each in body["properties"].items()
            }
        if "required" in body:
            schema["required"] = body["required"]
        values = body.get("additionalProperties", False)
        if values is True:
            schema["x-kubernetes-preserve-unknown-fields"] = True
        elif values:
            schema["additionalProperties"] = self._of(values)
        return schema

    def _referred(self, body: Schema) -> Schema:
        name = body["$ref"].rpartition("/")[2]
        return self.of_model(self._models[name], self._definitions[name]) | _described(body)

    def _optional(self, body: Schema) -> Schema:
        """Null is not told from absent, so it is not allowed: the field is left out instead."""
        (choice,) = (each for each in body["anyOf"] if each != {"type": "null"})
        return self._of(choice) | _described(body)


def _described(body: Schema) -> Schema:
    return {"description": body["description"]} if "description" in body else {}


def _rule(rule: Rule) -> Schema:
    usual = rule.reason == "FieldValueInvalid"  # the API server's default
    body = {"rule": rule.rule, "message": rule.message}
    return body if usual else {**body, "reason": rule.reason}


def _below(model: type[Part]) -> Iterator[type[Part]]:
    for each in model.__subclasses__():
        yield each
        yield from _below(each)
