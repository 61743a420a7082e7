"""Every bound of a schema with a value at it and one beyond it, found by walking the schema."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .examples import TEMPLATES, example, text

__all__ = ["Bound", "bounds"]

Schema = dict[str, Any]
KEY = "k"
"""Of the entry of a map whose values are looked at."""


@dataclass(frozen=True)
class Bound:
    """``path`` from the root, "[]" an item of a list; ``accepted`` and ``rejected`` whole parts."""

    path: str
    keyword: str
    accepted: Any
    rejected: Any

    def __str__(self) -> str:
        return f"{self.path} {self.keyword}"


def bounds(schema: Schema, path: str) -> Iterator[Bound]:
    """All bounds of a part, each as two values of the whole part."""
    for keyword, good, bad in _own(schema):
        yield Bound(path, keyword, good, bad)
    for name, each in schema.get("properties", {}).items():
        least = example(schema)
        if name in schema.get("required", ()):
            without = {key: value for key, value in least.items() if key != name}
            yield Bound(f"{path}.{name}", "required", least, without)
        for bound in bounds(each, f"{path}.{name}"):
            yield _inside(bound, lambda value, least=least, name=name: {**least, name: value})
    if "items" in schema:
        for bound in bounds(schema["items"], f"{path}[]"):
            yield _inside(bound, lambda value: _list(schema, value))
    if "additionalProperties" in schema:
        for bound in bounds(schema["additionalProperties"], f"{path}.{KEY}"):
            yield _inside(bound, lambda value: {KEY: value})


def _inside(bound: Bound, wrap: Any) -> Bound:
    return Bound(bound.path, bound.keyword, wrap(bound.accepted), wrap(bound.rejected))


def _list(schema: Schema, value: Any) -> list[Any]:
    others = [example(schema["items"], i + 1) for i in range(schema.get("minItems", 1) - 1)]
    return [value, *others]


def _own(schema: Schema) -> Iterator[tuple[str, Any, Any]]:
    """Keyword, value at the bound and value beyond it of this schema alone."""
    if "enum" in schema:
        yield "enum", schema["enum"][0], "no-such"
    elif schema.get("x-kubernetes-int-or-string"):
        yield "pattern", "1", "1 Gi"
        yield "minimum", 0, -1
    elif schema.get("type") == "string":
        yield from _of_text(schema)
    elif schema.get("type") in ("integer", "number"):
        yield from _of_number(schema)
    elif schema.get("type") == "array":
        yield from _of_list(schema)
    elif "maxProperties" in schema:
        yield from _of_map(schema)


def _of_text(schema: Schema) -> Iterator[tuple[str, Any, Any]]:
    if schema.get("format"):
        yield "format", text(schema), "yesterday"
        return
    template, wrong = TEMPLATES[schema.get("pattern")]
    if wrong is not None:
        yield "pattern", text(schema), wrong
    most = schema["maxLength"]
    if "{}" in template and most <= 4096:
        yield "maxLength", text(schema, most), text(schema, most + 1)
    elif "{}" in template:
        # The value at the bound may be more than an object holds.
        yield "maxLength", text(schema), text(schema, most + 1)
    if schema.get("minLength") and "{}" in template:
        yield "minLength", text(schema), ""


def _of_number(schema: Schema) -> Iterator[tuple[str, Any, Any]]:
    if "minimum" in schema:
        yield "minimum", schema["minimum"], schema["minimum"] - 1
    if "maximum" in schema:
        yield "maximum", schema["maximum"], schema["maximum"] + 1


def _of_list(schema: Schema) -> Iterator[tuple[str, Any, Any]]:
    def items(count: int) -> list[Any]:
        return [example(schema["items"], i) for i in range(count)]

    most = schema["maxItems"]
    fits = min(most, len(schema["items"].get("enum", range(most))))
    yield "maxItems", items(fits), items(most + 1)
    if "minItems" in schema:
        yield "minItems", items(schema["minItems"]), items(schema["minItems"] - 1)


def _of_map(schema: Schema) -> Iterator[tuple[str, Any, Any]]:
    values = schema.get("additionalProperties", {"type": "string"})
    least = example(schema)

    def entries(count: int) -> dict[str, Any]:
        return least | {f"k{i}": example(values, i) for i in range(count - len(least))}

    most = schema["maxProperties"]
    yield "maxProperties", entries(most), entries(most + 1)
