"""Bodies of graph search (contract §6)."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ragbase.models.search import COLLECTIONS_MAX, Linker, SearchWarning

__all__ = [
    "GraphChunk",
    "GraphEdge",
    "GraphNode",
    "GraphSearchRequest",
    "GraphSearchResponse",
    "GraphTrace",
    "MatchedEntity",
    "Subgraph",
]

LABELS_MAX = 64
LABEL_CHARS_MAX = 100
Label = Annotated[str, Field(min_length=1, max_length=LABEL_CHARS_MAX)]


class GraphSearchRequest(BaseModel):
    """A search in the entity graph alone: no vectors, no keywords, no fusion, no reranker."""

    model_config = ConfigDict(
        frozen=True,
        json_schema_extra={
            "examples": [{"query": "Which firms work with Acme Corp?", "hops": 1}],
        },
    )

    query: str = Field(min_length=1, description="The question; the names in it are looked up.")
    max_entities: int = Field(
        default=8, ge=1, le=32, description="Most phrases of the query that may name entities."
    )
    hops: int = Field(
        default=1, ge=0, le=2, description="Steps over relations from the named entities."
    )
    ranking: Literal["degree", "none"] = Field(
        default="degree",
        description="Order of the nodes: the named ones first, then by degree, or as found.",
    )
    top_k_chunks: int = Field(default=20, ge=1, le=200, description="Most chunks.")
    fuzzy: bool = Field(
        default=True,
        description="Look names up by likeness too, where no entity has the very name.",
    )
    ner_labels: list[Label] | None = Field(
        default=None,
        max_length=LABELS_MAX,
        description="Types of names that a NER model looks for; null or []: the built-in ones.",
    )
    chunk_ranking: Literal["support", "pagerank"] = Field(
        default="support",
        description="Order of the chunks: by how many of the nodes they name, or by the walk that "
        "ranks the graph arm of hybrid search.",
    )
    linker: Linker | None = Field(
        default=None, description="As in search: `llm` asks a language model for names as well."
    )
    collection: str | None = Field(default=None, description="Left out: `default`.")
    collections: list[str] | None = Field(
        default=None, min_length=1, max_length=COLLECTIONS_MAX, description="Instead of one."
    )
    filter: dict[str, Any] | None = Field(
        default=None,
        description="Condition on documents, as in search; holds on every hop.",
    )
    explain: bool = Field(
        default=False,
        description="Add ids and collections of entities, titles and scores of chunks.",
    )

    @model_validator(mode="after")
    def _one_way_to_name_collections(self) -> Self:
        if self.collection is not None and self.collections is not None:
            raise ValueError("give collection or collections, not both")
        return self


class MatchedEntity(BaseModel):
    """A phrase of the query and an entity that it names."""

    id: str = Field(description="The entity's name.")
    name: str
    type: str
    match_score: float = Field(description="How sure the phrase is a name; 1 without a NER model.")
    match_method: Literal["exact_ci", "alias", "fuzzy_contains", "fuzzy_trigram"]
    source_phrase: str
    entity_id: int | None = Field(default=None, description="With `explain`.")


class GraphNode(BaseModel):
    """An entity in or near the query."""

    id: str
    name: str
    type: str
    description: str | None
    degree: int = Field(description="Relations it has in its collection, also beyond this answer.")
    entity_id: int | None = Field(default=None, description="With `explain`.")
    collection: str | None = Field(default=None, description="With `explain`.")


class GraphEdge(BaseModel):
    """A relation between two nodes, from its source to its target."""

    source: str
    target: str
    relation: str = Field(description="What chunks say of it.")
    weight: float
    keywords: str | None


class Subgraph(BaseModel):
    """At most 200 nodes and 500 edges."""

    nodes: list[GraphNode]
    edges: list[GraphEdge]


class GraphChunk(BaseModel):
    """A chunk that names some of the nodes."""

    chunk_id: int | None
    doc_id: int | None
    lightrag_chunk_hash: str = Field(description="`chunk-` and the chunk's id.")
    text: str
    source_entities: list[str]
    document_title: str | None = Field(default=None, description="With `explain`.")
    external_id: str | None = Field(default=None, description="With `explain`.")
    score: float | None = Field(default=None, description="With `explain`.")


class GraphTrace(BaseModel):
    """Where the time went, in milliseconds, and how much was found."""

    latency_ms: float
    ner_ms: float
    graph_ms: float
    chunk_bridge_ms: float
    n_ner_entities: int
    n_matched_nodes: int
    n_subgraph_nodes: int
    n_subgraph_edges: int


class GraphSearchResponse(BaseModel):
    """What the graph knows of the names in the query."""

    query: str
    matched_entities: list[MatchedEntity]
    subgraph: Subgraph
    chunks: list[GraphChunk]
    trace: GraphTrace
    warnings: list[SearchWarning] = Field(
        default=[], description="What the answer went without; absent where there is nothing."
    )
