"""Defaults of a model as a schema holds them, so that the API server fills them in."""

from __future__ import annotations

from typing import Any

from pydantic.fields import FieldInfo

from ragbase_operator.models.base import Part

__all__ = ["default_of", "filled"]


def default_of(field: FieldInfo, schema: dict[str, Any]) -> Any:
    """The default that goes into the structural ``schema`` of ``field``; None: it has none.

    An empty list or map is left out, so that stored objects stay small; the models read it the
    same. An object stays there where something in it has a default or a rule: the API server
    fills in, and judges, only what is present. So nobody gets round a rule about a change by
    leaving the whole object out.
    """
    if field.is_required():
        return None
    value = field.get_default(call_default_factory=True)
    if isinstance(value, Part):
        value = value.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        return filled(value, schema) if value or _is_active(schema) else None
    return None if value in ([], {}) else value


def filled(value: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """``value`` with the defaults of ``schema``'s properties where it has none of its own.

    The API server would fill them in too, but only after it has judged the default by the rules.
    """
    properties = schema.get("properties", {})
    defaults = {name: each["default"] for name, each in properties.items() if "default" in each}
    return {**defaults, **value}


def _is_active(schema: Any) -> bool:
    """Whether some object below has a default or a rule."""
    properties = schema.get("properties", {})
    return "x-kubernetes-validations" in schema or any(
        "default" in each or _is_active(each) for each in properties.values()
    )
