"""The entry: all children of a RagBase."""

from __future__ import annotations

from ragbase_operator.builders.inputs import Inputs
from ragbase_operator.models.manifest import Manifest
from ragbase_operator.models.objects import RagBase

__all__ = ["build"]


def build(ragbase: RagBase, inputs: Inputs) -> list[Manifest]:
    """Manifests of all children, in the order in which they are applied.

    The same arguments give the same bytes. Volumes are claims of their own among them (no claim
    templates), so a larger size is applied like any other field.
    """
    del ragbase, inputs
    return []
