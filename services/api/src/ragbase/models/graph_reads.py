"""Answers about the shape of a graph: neighbours, paths, communities, counts (contract §7)."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import BaseModel, Field

__all__ = ["CommunityOut", "GraphCounts", "GraphKind", "NeighbourOut", "NodeOut"]

GraphKind: TypeAlias = Literal["concept", "entity"]
"""Which graph: concepts and their relations, or extracted entities and theirs. They never meet."""


class NodeOut(BaseModel):
    """A concept or an entity."""

    id: int
    name: str
    type: str


class NeighbourOut(NodeOut):
    """A node within some steps of another."""

    depth: int = Field(description="Least number of relations that lead to it: 1 or more.")


class CommunityOut(NodeOut):
    """A node and the community that it belongs to."""

    community_id: int = Field(
        description="From 0, the largest community first; -1: the node has no relations."
    )


class GraphCounts(BaseModel):
    """How much the graphs of the collections hold."""

    concepts: int
    relations: int = Field(description="Between concepts.")
    entities: int
    entity_relations: int
