"""Values that a schema allows, made out of it."""

from __future__ import annotations

from typing import Any

__all__ = ["TEMPLATES", "example", "text"]

TEMPLATES = {
    None: ("{}", None),
    "^sha256:[0-9a-f]{64}$": ("sha256:" + "0" * 64, "sha256:0"),
    "^(@[a-z]+|[^ ]+( +[^ ]+){4})$": ("0 2 * * {}", "0 2 * *"),
    "^https?://[^ ]+$": ("https://{}", "ftp://a.example.com"),
    "^[a-z0-9.-]+/[A-Za-z0-9._-]+$": ("amd.com/{}", "amd.com"),
    "^[0-9]+(\\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi|T|Ti|P|Pi|E|Ei)?$": ("1", "1 Gi"),
    "^([1-9][0-9]*|[0-9]+\\.[0-9]+)(M|Mi|G|Gi|T|Ti|P|Pi)$": ("1Gi", "10"),
    "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$": ("{}", "-a"),
    "^(\\*\\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$": ("{}", "a_b"),
    "^[-._a-zA-Z0-9]+$": ("{}", "a/b"),
    "^([A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?)?$": ("{}", "a b"),
    "^[A-Za-z0-9][A-Za-z0-9._:/-]*$": ("{}", "image@latest"),
    "^[A-Za-z0-9_][A-Za-z0-9_.-]*$": ("{}", "-1"),
    "^[A-Za-z0-9/][A-Za-z0-9_./-]*$": ("{}", "a model"),
    "^[A-Za-z0-9_./-]+$": ("{}", "a b"),
    "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$": ("{}", "a-"),
    "^[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*$": ("{}", "../a"),
    "^[a-z0-9][a-z0-9_-]{0,62}$": ("{}", "A"),
    "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$": ("{}", "Not ready"),
}
"""For each pattern: what matches it, `{}` being where letters may be added, and what does not."""


def text(schema: dict[str, Any], length: int = 0, index: int = 0) -> str:
    """A string of at least ``length`` characters that differs from that of another ``index``."""
    if schema.get("format") == "date-time":
        return f"2026-11-30T08:00:{index:02}Z"
    template, _ = TEMPLATES[schema.get("pattern")]
    own = f"x{index}"
    room = max(length - len(template.format("")), schema.get("minLength", 0), len(own))
    return template.format(own.ljust(room, "x"))


def example(schema: dict[str, Any], index: int = 0) -> Any:
    """A value that ``schema`` allows: as little as it asks for."""
    if "enum" in schema:
        return schema["enum"][index % len(schema["enum"])]
    match schema.get("type"):
        case "object":
            needed = schema.get("required", ())
            return {name: example(schema["properties"][name], index) for name in needed}
        case "array":
            return [example(schema["items"], i) for i in range(schema.get("minItems", 0))]
        case "integer" | "number":
            return schema.get("minimum", 0) + index
        case "boolean":
            return True
    return text(schema, index=index)
