"""``values.yaml`` and the table of values in a chart's README: out of the same models."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

from ragbase_operator.crd.schema import Schema, structural
from ragbase_operator.models.base import Part

__all__ = ["Value", "values_of", "values_table", "values_yaml"]

_WIDTH = 100
_INDENT = "  "


class Value(NamedTuple):
    """One value of a chart; ``default`` is None where others below it have theirs."""

    path: tuple[str, ...]
    schema: Schema
    default: Any
    is_group: bool


def values_of(model: type[Part]) -> Iterator[Value]:
    """All values, groups before what is in them, in the order of the models."""
    defaults = model().model_dump(mode="json", by_alias=True, exclude_none=True)
    yield from _below((), structural(model), defaults)


def values_yaml(model: type[Part], header: str) -> str:
    """All values with their defaults, each under its description."""
    lines = [f"# {line}" for line in header.splitlines()]
    for value in values_of(model):
        margin = _INDENT * (len(value.path) - 1)
        if len(value.path) == 1:
            lines.append("")
        lines += [margin + line for line in _comment(value, _WIDTH - len(margin))]
        key = value.path[-1]
        lines.append(f"{margin}{key}:" if value.is_group else f"{margin}{key}: {_flow(value)}")
    return "\n".join(lines) + "\n"


def values_table(model: type[Part]) -> str:
    """The values as a Markdown table."""
    rows = ["| value | default | meaning |", "|---|---|---|"]
    for value in values_of(model):
        if not value.is_group:
            shown = json.dumps(value.default, ensure_ascii=False).replace("|", "\\|")
            rows.append(f"| `{'.'.join(value.path)}` | `{shown}` | {_prose(value)} |")
    return "\n".join(rows) + "\n"


def _below(path: tuple[str, ...], schema: Schema, defaults: dict[str, Any]) -> Iterator[Value]:
    for name, each in schema["properties"].items():
        here = (*path, name)
        default = defaults[name]
        is_group = "properties" in each
        yield Value(here, each, None if is_group else default, is_group)
        if is_group:
            yield from _below(here, each, default)


def _comment(value: Value, width: int) -> list[str]:
    return [f"# {line}" for line in textwrap.wrap(_prose(value), width - 2)]


def _prose(value: Value) -> str:
    text = " ".join(str(value.schema["description"]).split())
    choices = value.schema.get("enum")
    return f"{text} One of {', '.join(map(str, choices))}." if choices else text


def _flow(value: Value) -> str:
    """A default on one line."""
    default = value.default
    if isinstance(default, float) and default.is_integer():
        default = int(default)
    if default in ("", [], {}):
        return json.dumps(default)
    if isinstance(default, (dict, list)):
        text = yaml.safe_dump(default, default_flow_style=True, sort_keys=False, width=10_000)
        return str(text).strip()
    return str(yaml.safe_dump(default)).removesuffix("...\n").strip()
