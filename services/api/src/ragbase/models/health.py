"""Bodies of the health routes (contract §8)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

__all__ = ["Health", "ModelsHealth", "Readiness"]


class Health(BaseModel):
    """State of each part as last probed; always answered with 200."""

    status: Literal["ok", "degraded"]
    postgres: str = Field(examples=["connected"])
    embedding: str = Field(examples=["healthy"])
    reranker: str = Field(
        description="The reranker `default`: `healthy`, `disabled`, `status <code>` or "
        "`error: <text>`.",
        examples=["disabled"],
    )
    rerankers: dict[str, str] = Field(
        default_factory=dict, description="The same of each configured reranker, by name."
    )
    llm: str = Field(
        default="disabled",
        description="The language model, in the same words; of several the first that is not well.",
        examples=["disabled"],
    )
    llms: dict[str, str] = Field(
        default_factory=dict,
        description="The same of each language model: `llm`, or one a purpose where they differ.",
    )
    memgraph: str = Field(examples=["disabled"])
    version: str
    lexical: str = Field(description="Keyword dialect in use.", examples=["native"])


class ModelsHealth(BaseModel):
    """Which models answer; the embedding object has the fields of TEI's `/info` that apply."""

    embedding: dict[str, Any] | None
    reranker: dict[str, Any] | Literal["disabled"] | None
    rerankers: dict[str, dict[str, Any] | None] = Field(
        default_factory=dict, description="Each configured reranker by name; null: not answering."
    )
    llms: dict[str, dict[str, Any] | None] = Field(
        default_factory=dict,
        description="Each configured language model and its protocol; null: not answering.",
    )


class Readiness(BaseModel):
    """Whether requests can be served."""

    status: Literal["ready", "not_ready"]
    reason: str | None = None
