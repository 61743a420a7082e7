"""Finds children by kind and name, and their parts."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any


class Found:
    """Finds children by kind and name, and their parts."""

    def one(self, children: list[dict[str, Any]], kind: str, name: str) -> dict[str, Any]:
        return next(c for c in children if c["kind"] == kind and c["metadata"]["name"] == name)

    def names(self, children: list[dict[str, Any]], kind: str) -> list[str]:
        return [c["metadata"]["name"] for c in children if c["kind"] == kind]

    def templates(self, children: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
        for child in children:
            spec = child.get("spec", {})
            spec = spec.get("jobTemplate", {}).get("spec", spec)
            if "containers" in spec.get("template", {}).get("spec", {}):
                yield f"{child['kind']} {child['metadata']['name']}", spec["template"]

    def container(self, child: dict[str, Any]) -> dict[str, Any]:
        spec = child["spec"].get("jobTemplate", child)["spec"]
        (only,) = spec["template"]["spec"]["containers"]
        return only

    def env(self, child: dict[str, Any]) -> dict[str, Any]:
        return {e["name"]: e.get("value", e.get("valueFrom")) for e in self.container(child)["env"]}

    def secret(self, children: list[dict[str, Any]], name: str) -> dict[str, str]:
        data = self.one(children, "Secret", name)["data"]
        return {key: base64.b64decode(value).decode() for key, value in data.items()}

    def text(self, value: object) -> str:
        return json.dumps(value, sort_keys=True)
