"""Kubernetes objects as they are sent, and what names one."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

__all__ = ["Manifest", "Ref", "ref_of"]

Manifest: TypeAlias = dict[str, Any]
"""An object as JSON; only the fields that we own, and never a status."""


class Ref(NamedTuple):
    """What names an object in a cluster; ``namespace`` is "" for those of none."""

    api_version: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


def ref_of(manifest: Manifest) -> Ref:
    """The name of an object."""
    metadata = manifest["metadata"]
    return Ref(
        manifest["apiVersion"], manifest["kind"], metadata.get("namespace", ""), metadata["name"]
    )
