"""One line for a JSON schema: what a person or a program has to know to write the value."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["field_lines", "type_of"]

Schema = dict[str, Any]


def type_of(schema: Schema) -> str:
    """Like ``integer 1–100``, ``list of SearchResult``, ``"a" or "b"``, ``string or null``."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    for choice in ("anyOf", "oneOf"):
        if choice in schema:
            return " or ".join(dict.fromkeys(type_of(each) for each in schema[choice]))
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return " or ".join(json.dumps(each) for each in schema["enum"])
    kind = str(schema.get("type", "any"))
    if kind == "array":
        return f"list of {type_of(schema.get('items', {}))}{_length(schema, 'Items')}"
    if kind == "string":
        return str(schema.get("format", "string")) + _length(schema, "Length")
    if kind == "object":
        return "object"
    return kind + _range(schema)


def field_lines(schema: Schema) -> list[str]:
    """A Markdown list item for each property of an object, those without a default first."""
    required = set(schema.get("required", ()))
    properties = schema.get("properties", {})
    names = sorted(properties, key=lambda name: name not in required)  # stable otherwise
    return [_line(name, properties[name], required=name in required) for name in names]


def _line(name: str, schema: Schema, *, required: bool) -> str:
    parts = [f"- `{name}`: {type_of(schema)}"]
    if required:
        parts.append(", required")
    elif schema.get("default") is not None:
        parts.append(f" = `{json.dumps(schema['default'], ensure_ascii=False)}`")
    meaning = " ".join(str(schema.get("description", "")).split())
    return "".join(parts) + (f". {meaning}" if meaning else "")


def _range(schema: Schema) -> str:
    least = schema.get("minimum", schema.get("exclusiveMinimum"))
    most = schema.get("maximum", schema.get("exclusiveMaximum"))
    if least is None and most is None:
        return ""
    if most is None:
        return f" ≥ {_number(least)}"
    return f" {_number(least)}–{_number(most)}" if least is not None else f" ≤ {_number(most)}"


def _length(schema: Schema, what: str) -> str:
    least, most = schema.get(f"min{what}"), schema.get(f"max{what}")
    if most is not None:
        return f" ({least or 0}–{most})" if least != most else f" (exactly {most})"
    return f" (at least {least})" if least else ""


def _number(value: float | None) -> str:
    assert value is not None
    return str(int(value)) if float(value).is_integer() else str(value)
