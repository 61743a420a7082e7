"""``docs/crd-reference.md``: every field of the custom resources on one page."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from ragbase_operator.crd.schema import Schema, structural
from ragbase_operator.models.kinds import API_VERSION, Kind

__all__ = ["reference_page"]

_INTRODUCTION = f"""\
# Custom resources

Made by `make crds` out of the operator's models; `kubectl explain` shows the same. All kinds are
namespaced and of `{API_VERSION}`; `kubectl get retrieval` lists all of them. A field without a default and without *required* may be left
out. Rules are checked by the API server when an object is applied. Examples: [samples](../crds/samples/README.md).
"""
_OVERRIDES = {
    "image": "Image",
    "pod": "PodOverrides",
    "resources": "Resources",
}
"""Fields whose objects are the same wherever they occur: described once."""


def reference_page(kinds: Iterable[Kind]) -> str:
    """The page, in Markdown."""
    shared: dict[str, Schema] = {}
    parts = [_INTRODUCTION, *[_kind(kind, shared) for kind in kinds]]
    parts += [_shared(name, shared[name]) for name in sorted(shared)]
    return "\n".join(parts)


def _kind(kind: Kind, shared: dict[str, Schema]) -> str:
    lines = [f"## {kind.name}\n", f"Short name `{kind.short}`. {_prose(structural(kind.spec))}\n"]
    for part, model in (("spec", kind.spec), ("status", kind.status)):
        schema = structural(model)
        lines += [f"### {kind.name} {part}\n", *_table(schema, part, shared), *_rules(schema, part)]
    return "\n".join(lines)


def _shared(name: str, schema: Schema) -> str:
    lines = [f"## {_OVERRIDES[name]}\n", f"Wherever a field is called `{name}`.\n"]
    return "\n".join([*lines, *_table(schema, name, None), *_rules(schema, name)])


def _table(schema: Schema, root: str, shared: dict[str, Schema] | None) -> list[str]:
    rows = [_row(path, each, needed) for path, each, needed in _fields(schema, root, shared)]
    return ["| Field | Type | Default | Meaning |", "|---|---|---|---|", *rows, ""]


def _fields(
    schema: Schema, path: str, shared: dict[str, Schema] | None
) -> Iterator[tuple[str, Schema, bool]]:
    """Path, schema and whether it is required of each field below, parents first."""
    for name, each in _object(schema).get("properties", {}).items():
        below = f"{path}.{name}"
        yield below, each, name in _object(schema).get("required", ())
        if shared is not None and name in _OVERRIDES:
            shared[name] = each
        else:
            suffix = "[]" if each.get("type") == "array" else ""
            yield from _fields(each, below + suffix, shared)


def _object(schema: Schema) -> Schema:
    """A list's items are described in place of it."""
    items: Schema = schema.get("items", schema)
    return items


def _row(path: str, schema: Schema, required: bool) -> str:
    default = "*required*" if required else _default(schema)
    cells = (f"`{path}`", _type(schema), default, _prose(schema))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _default(schema: Schema) -> str:
    fields = schema.get("properties", {}).values()
    if schema.get("default") is None or any("default" in each for each in fields):
        return ""  # an object whose fields have defaults of their own, or none
    return f"`{json.dumps(schema['default'], ensure_ascii=False)}`"


def _type(schema: Schema) -> str:
    if "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema["enum"])
    if schema.get("x-kubernetes-int-or-string"):
        return "quantity"
    kind = str(schema["type"])
    if kind == "array":
        return f"list of {_type(schema['items'])}{_bounds(schema, 'Items')}"
    if "additionalProperties" in schema:
        return f"map to {_type(schema['additionalProperties'])}"
    if kind in ("integer", "number"):
        return kind + _range(schema)
    return str(schema.get("format", kind)) + _bounds(schema, "Length")


def _range(schema: Schema) -> str:
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is None and most is None:
        return ""
    return f" ≥ {least:g}" if most is None else f" {least}–{most}"


def _bounds(schema: Schema, what: str) -> str:
    most = schema.get(f"max{what}")
    return "" if most is None else f" (at most {most})"


def _rules(schema: Schema, path: str) -> list[str]:
    found = [f"- `{where}`: {message}." for where, message in _messages(schema, path)]
    return ["Rules:\n", *found, ""] if found else []


def _messages(schema: Schema, path: str) -> Iterator[tuple[str, str]]:
    for rule in schema.get("x-kubernetes-validations", ()):
        yield path, rule["message"]
    if "items" in schema:
        yield from _messages(schema["items"], f"{path}[]")
    for name, each in schema.get("properties", {}).items():
        yield from _messages(each, f"{path}.{name}")


def _prose(schema: Schema) -> str:
    return " ".join(str(schema.get("description", "")).split())
