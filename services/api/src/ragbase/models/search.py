"""Bodies of the search routes and of the embedding pass-through (contract §5, §8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ragbase.limits import ARM_DEPTH_DEFAULT, ARM_DEPTH_MAX, RERANK_CANDIDATES_MAX, TOP_K_MAX
from ragbase.models.domain import ArmName
from ragbase.models.fusion import FusionSettings, RrfFusion, WeightedFusion

__all__ = [
    "EmbedRequest",
    "EmbedResponse",
    "FusionSettings",
    "Highlight",
    "Linker",
    "Place",
    "Retriever",
    "RrfFusion",
    "ScoreKind",
    "SearchRequest",
    "SearchResponse",
    "SearchRow",
    "SearchWarning",
    "Stage",
    "Timings",
    "WeightedFusion",
]

Retriever = Literal["semantic", "keyword", "graph", "rerank"]
ScoreKind = Literal["cosine", "bm25", "rrf", "weighted", "rerank"]
Stage = Literal["embed", "lexical", "semantic", "graph", "fuse", "rerank"]
Linker = Literal["lexical", "llm"]
ExplainedPart = Literal["semantic", "keyword", "graph", "fused", "rerank"]

COLLECTIONS_MAX = 100


class SearchRequest(BaseModel):
    """A search. All routes take the same body; what does not concern a route is ignored."""

    model_config = ConfigDict(
        frozen=True,
        json_schema_extra={
            "examples": [
                {"query": "How do I rotate an API key?", "top_k": 10},
                {
                    "query": "boundary layer transition",
                    "collection": "papers",
                    "filter": {"year": {"gte": 1960}, "tags": {"in": ["laminar", "turbulent"]}},
                    "fusion": {"method": "weighted", "weights": {"semantic": 0.5, "keyword": 0.5}},
                    "explain": True,
                },
            ]
        },
    )

    query: str = Field(
        min_length=1,
        description="The question, in plain words: no query syntax. Length limit: "
        "RAGBASE_MAX_QUERY_CHARS.",
    )
    top_k: int = Field(
        default=20,
        ge=1,
        le=TOP_K_MAX,
        description="Rows wanted. Left out: the server's DEFAULT_SEARCH_TOP_K.",
    )
    offset: int = Field(
        default=0,
        ge=0,
        description="Rows to skip. Pages continue one another; offset + top_k may not pass "
        "`candidates`.",
    )
    min_score: float = Field(
        default=0.0,
        ge=0.0,
        le=1.0,
        allow_inf_nan=False,
        description="Least cosine similarity of rows of the semantic arm. It does not touch keyword "
        "and graph rows, fused scores or reranker scores. Left out: DEFAULT_MIN_SCORE.",
    )
    rerank: bool = Field(
        default=True,
        description="Let a reranker order the best rows (hybrid only). Without a configured "
        "reranker the fused order stays, with a warning if this was set in the request.",
    )
    rerank_candidates: int = Field(
        default=50,
        ge=1,
        le=RERANK_CANDIDATES_MAX,
        description="Rows the reranker sees: max(rerank_candidates, top_k), whatever the offset; "
        "the others follow in fused order with score 0. Left out: DEFAULT_RERANK_CANDIDATES.",
    )
    rerank_model: str | None = Field(
        default=None,
        max_length=100,
        description="`default`, `bge-gpu`, `qwen-4b`, `qwen-8b` or a configured name; null: "
        "`default`. One that is not configured is replaced by `default`, with a warning.",
    )
    min_rerank_score: float | None = Field(
        default=None,
        ge=0.0,
        le=1.0,
        allow_inf_nan=False,
        description="Least reranker score. Applied only when a reranker ran, and then also drops "
        "the rows it did not see.",
    )
    include_graph: bool = Field(
        default=True,
        description="Ask the graph arm too (hybrid only), where the collection has entities.",
    )
    linker: Linker | None = Field(
        default=None,
        description="How names in the query are found: `lexical`, or `llm` as well, which waits for "
        "a language model. Left out: RAGBASE_GRAPH_LINKER.",
    )
    collection: str | None = Field(
        default=None, description="Collection to search. Left out: `default`."
    )
    collections: list[str] | None = Field(
        default=None,
        min_length=1,
        max_length=COLLECTIONS_MAX,
        description="Collections to search together; instead of `collection`.",
    )
    filter: dict[str, Any] | None = Field(
        default=None,
        description='Condition on documents: `{"field": value}`, `{"field": {"op": value}}` with '
        "eq, ne, gt, gte, lt, lte, in, nin, exists, contains; `and`, `or`, `not`; dots enter "
        "objects; `@id`, `@external_id`, `@title`, `@created_at`.",
        examples=[{"year": {"gte": 2020}, "or": [{"lang": "en"}, {"tags": {"contains": "draft"}}]}],
    )
    candidates: int = Field(
        default=ARM_DEPTH_DEFAULT,
        ge=1,
        le=ARM_DEPTH_MAX,
        description="Rows each arm gives, whatever top_k and offset. Left out: "
        "RAGBASE_DEFAULT_CANDIDATES, or top_k if that is more.",
    )
    fusion: FusionSettings | None = Field(
        default=None,
        description="How the arms' rankings become one. Left out: the collection's setting.",
    )
    group_by: Literal["document"] | None = Field(
        default=None,
        description="`document`: one row a document, its best chunk; pages count documents.",
    )
    explain: bool = Field(
        default=False, description="Give rank and score of each row in each stage."
    )

    @model_validator(mode="after")
    def _one_way_to_name_collections(self) -> Self:
        if self.collection is not None and self.collections is not None:
            raise ValueError("give collection or collections, not both")
        return self


# What an answer holds hundreds of are plain values: models take many times longer to make, and
# frozen dataclasses twice as long.


@dataclass(slots=True)
class Highlight:
    """A part of a row's content that matches the query: code points, end exclusive."""

    start: int
    end: int


@dataclass(slots=True)
class Place:
    """Where a row stood in one stage; rank from 1."""

    rank: int
    score: float


@dataclass(slots=True)
class SearchRow:
    """One found chunk."""

    chunk_id: int
    document_id: int
    document_title: str
    content: Annotated[str, Field(description="The chunk as it stands in the document.")]
    score: Annotated[
        float, Field(description="What it measures is told by the answer's `score_kind`.")
    ]
    sources: Annotated[list[ArmName], Field(description="Arms that returned this chunk.")]
    collection: str
    external_id: Annotated[
        str | None, Field(description="The document's id in the caller's system.")
    ]
    metadata: Annotated[dict[str, Any], Field(description="The document's metadata.")]
    chunk_index: Annotated[int, Field(description="Position among the document's chunks, from 0.")]
    start: Annotated[
        int | None,
        Field(
            description="Where the chunk starts in the document's content, in code points; null on "
            "documents taken over from another schema."
        ),
    ]
    end: Annotated[int | None, Field(description="Where it ends, exclusive.")]
    highlights: Annotated[
        list[Highlight],
        Field(description="Places in `content` that match the query's terms, in order."),
    ]
    explain: Annotated[
        dict[ExplainedPart, Place] | None,
        Field(description="Rank and score by stage; null unless asked for."),
    ] = None


class SearchWarning(BaseModel):
    """Something the answer went without, or did otherwise than asked."""

    code: str = Field(
        description="`<stage>_unavailable`, `<stage>_timeout`, `reranker_fallback`, "
        "`query_truncated`.",
        examples=["semantic_unavailable"],
    )
    message: str
    stage: str = Field(examples=["semantic"])


class Timings(BaseModel):
    """Milliseconds of each stage; 0 where it did not run. Arms overlap, so parts may exceed total."""

    embed: float = 0.0
    lexical: float = 0.0
    semantic: float = 0.0
    graph: float = 0.0
    fuse: float = 0.0
    rerank: float = 0.0
    total: float = 0.0


class SearchResponse(BaseModel):
    """The rows, and what was done to find them."""

    query: str = Field(description="The query as sent.")
    results: list[SearchRow]
    total: int = Field(description="Number of rows in `results`, not of matches.")
    retrievers_used: list[Retriever] = Field(
        description="Arms that found something, in the order semantic, keyword, graph; then "
        "`rerank` if a reranker ordered the rows. Single-arm routes always name their arm."
    )
    score_kind: ScoreKind
    reranker_used: str | None = Field(description="Name of the reranker that ran.")
    warnings: list[SearchWarning]
    degraded: bool = Field(description="True when something that is configured failed.")
    timings_ms: Timings


class EmbedRequest(BaseModel):
    """Texts to embed as they are, without any prefix."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"inputs": ["one", "two"]}]})

    inputs: Annotated[list[str], Field(min_length=1)] = Field(
        description="One or more texts; empty ones are allowed."
    )


class EmbedResponse(BaseModel):
    """One vector an input, in order."""

    embeddings: list[list[float]]
    model: str = Field(description="The model's name, as its server reports it.")
    dimensions: int
