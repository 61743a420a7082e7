"""What may be given with a call; names and meanings are the HTTP API's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

__all__ = [
    "CollectionOptions",
    "ConceptChanges",
    "ConceptOptions",
    "DocumentOptions",
    "GraphSearchOptions",
    "Mode",
    "RelationOptions",
    "SearchOptions",
    "UploadOptions",
]

Mode = Literal["hybrid", "keyword", "semantic"]


class SearchOptions(TypedDict, total=False):
    """Everything of a search but its text. Left out: the server's defaults."""

    top_k: int
    offset: int
    candidates: int
    collection: str
    collections: Sequence[str]
    filter: Mapping[str, Any]
    fusion: Mapping[str, Any]
    min_score: float
    min_rerank_score: float
    rerank: bool
    rerank_candidates: int
    rerank_model: str | None
    include_graph: bool
    linker: Literal["lexical", "llm"]
    explain: bool
    group_by: Literal["document"]


class GraphSearchOptions(TypedDict, total=False):
    """Everything of a graph search but its text. Left out: the server's defaults."""

    max_entities: int
    hops: int
    ranking: Literal["degree", "none"]
    top_k_chunks: int
    fuzzy: bool
    ner_labels: Sequence[str]
    chunk_ranking: Literal["support", "pagerank"]
    linker: Literal["lexical", "llm"]
    collection: str
    collections: Sequence[str]
    filter: Mapping[str, Any]
    explain: bool


class DocumentOptions(TypedDict, total=False):
    """Everything of a document but title and content."""

    metadata: Mapping[str, Any]
    external_id: str
    collection: str
    dedupe: bool
    contextual_retrieval: bool
    graph: bool


class UploadOptions(DocumentOptions, total=False):
    """Everything of an uploaded file but its content; given values win over the file's own."""

    title: str


class CollectionOptions(TypedDict, total=False):
    """Settings of a collection."""

    language: str
    fusion: Mapping[str, Any] | None
    chunking: Mapping[str, int] | None
    contextual_retrieval: bool
    embedding_model: str | None


class ConceptOptions(TypedDict, total=False):
    """Everything of a concept but its name."""

    type: str
    description: str
    metadata: Mapping[str, Any]
    collection: str


class ConceptChanges(TypedDict, total=False):
    """What can be changed of a concept; left out: it stays."""

    name: str
    type: str
    description: str
    metadata: Mapping[str, Any]


class RelationOptions(TypedDict, total=False):
    """Everything of a relation but its ends and type."""

    metadata: Mapping[str, Any]
    collection: str
