"""Defaults of a model as a schema holds them, so that the API server fills them in."""

from __future__ import annotations

from typing import Any

from pydantic.fields import FieldInfo

from ragbase_operator.models.base import Part

__all__ = ["default_of"]


def default_of(field: FieldInfo, schema: dict[str, Any]) -> Any:
    """The default that goes into the structural ``schema`` of ``field``; None: it has none.

    An empty list or map is left out, so that stored objects stay small; the models read it the
    same. An object stays there, even empty, where something in it has a default or a rule: the API
    server fills in, and judges, only what is present. So nobody gets round a rule about a change
    by leaving the whole object out.
    """
    if field.is_required():
        return None
    value = field.get_default(call_default_factory=True)
    if isinstance(value, Part):
        value = value.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        return value if value or _is_active(schema) else None
    return None if value in ([], {}) else value


def _is_active(schema: Any) -> bool:
    """Whether some object below has a default or a rule."""
    properties = schema.get("properties", {})
    return "x-kubernetes-validations" in schema or any(
        "default" in each or _is_active(each) for each in properties.values()
    )
