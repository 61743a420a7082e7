"""Bodies of the rerank route (contract §8)."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from ragbase.models.search import SearchWarning

__all__ = ["RerankRequest", "RerankResponse", "RerankResult"]


class RerankRequest(BaseModel):
    """Texts to be ordered by how well they answer a query."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"query": "where do ships moor", "texts": ["At the north quay.", "Rice."]}]
        }
    )

    query: str = Field(min_length=1)
    texts: Annotated[list[str], Field(min_length=1)] = Field(
        description="One or more texts; those longer than the model reads are cut. Blank ones are "
        "not read and score 0."
    )
    return_text: bool = Field(default=False, description="Give each text back with its score.")
    rerank_model: str | None = Field(
        default=None,
        max_length=100,
        description="As in a search; null: `default`.",
    )


class RerankResult(BaseModel):
    """One text's score, 0…1; ``index`` is its place in the request, from 0."""

    index: int
    score: float
    text: str | None = Field(default=None, description="Null unless `return_text`.")


class RerankResponse(BaseModel):
    """All texts, best first; equal scores keep the request's order."""

    results: list[RerankResult]
    model: str = Field(description="The model's name, as its server reports it; else `unknown`.")
    reranker_used: str = Field(description="Name of the reranker that ran.")
    warnings: list[SearchWarning] = Field(
        description="`reranker_fallback`: another reranker than the one asked for ran."
    )
