"""What an extractor finds in chunks: facts, each a chunk's own contribution to the graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = [
    "TITLE",
    "UNKNOWN",
    "ChunkFacts",
    "EntityFact",
    "ExtractionMode",
    "ExtractionSource",
    "GraphCounts",
    "NamedEntity",
    "NamedFacts",
    "NamedRelation",
    "RelationFact",
    "SourceChunk",
]

ExtractionMode = Literal["auto", "llm", "ner", "off"]

UNKNOWN = "unknown"
"""Type of an entity that nothing was said of."""
TITLE = "title"
"""Type of an entity that is known only as the title of a document."""


@dataclass(frozen=True, slots=True)
class EntityFact:
    """A chunk names an entity. ``name`` as written; types are lower-case words."""

    name: str
    type: str = UNKNOWN
    description: str = ""


@dataclass(frozen=True, slots=True)
class RelationFact:
    """A chunk relates two entities, which it names too."""

    source: str
    target: str
    keywords: str = ""
    description: str = ""
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class ChunkFacts:
    """All that one chunk says."""

    chunk_id: int
    entities: Sequence[EntityFact] = ()
    relations: Sequence[RelationFact] = ()


@dataclass(frozen=True, slots=True)
class NamedEntity:
    """A clean `EntityFact`; entities of a collection are told apart by ``normal_name``."""

    normal_name: str
    name: str
    type: str = UNKNOWN
    description: str = ""


@dataclass(frozen=True, slots=True)
class NamedRelation:
    """A clean `RelationFact`; both ends are normalised names."""

    source: str
    target: str
    keywords: str = ""
    description: str = ""
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class NamedFacts:
    """Clean `ChunkFacts`: each entity once, each end of a relation among them."""

    chunk_id: int
    entities: Sequence[NamedEntity] = ()
    relations: Sequence[NamedRelation] = ()


@dataclass(frozen=True, slots=True)
class SourceChunk:
    """A chunk to extract from."""

    id: int
    content: str


@dataclass(frozen=True, slots=True)
class ExtractionSource:
    """A document's chunks, in order."""

    document_id: int
    title: str
    chunks: Sequence[SourceChunk]
    language: str = ""
    """Of the collection, by its name; "" or ``simple``: not said."""


@dataclass(frozen=True, slots=True)
class GraphCounts:
    """How much one document contributes."""

    entities: int = 0
    relations: int = 0
    mentions: int = 0
