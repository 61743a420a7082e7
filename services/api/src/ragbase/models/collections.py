"""Bodies of the collection routes."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ragbase.models.documents import CollectionName
from ragbase.models.search import FusionSettings

__all__ = ["Chunking", "CollectionIn", "CollectionOut", "CollectionSettings"]

Language = Annotated[
    str,
    Field(
        max_length=40,
        description="Snowball language (english, german, …), its ISO code, or `simple`.",
        examples=["english"],
    ),
]


class Chunking(BaseModel):
    """Size of chunks, in words; the embedder's token limit caps it."""

    size: int = Field(default=512, ge=1, le=100_000)
    overlap: int = Field(default=50, ge=0)

    @model_validator(mode="after")
    def _overlap_below_size(self) -> Self:
        if self.overlap >= self.size:
            raise ValueError(f"overlap ({self.overlap}) must be below size ({self.size})")
        return self


class CollectionSettings(BaseModel):
    """What can be set on a collection. Left out: the server's defaults."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "language": "english",
                "fusion": {"method": "weighted", "weights": {"semantic": 0.5, "keyword": 0.5}},
                "chunking": {"size": 300, "overlap": 30},
            }
        }
    )

    language: Language = "english"
    fusion: FusionSettings | None = None
    chunking: Chunking | None = None
    contextual_retrieval: bool = Field(
        default=False,
        description="Whether documents get context lines where their request does not say.",
    )
    embedding_model: str | None = Field(
        default=None,
        max_length=512,
        description="Must be the model this server runs; recorded, so that a later change shows.",
    )


class CollectionIn(CollectionSettings):
    """A collection to create."""

    name: CollectionName


class CollectionOut(CollectionSettings):
    """A stored collection with its counts."""

    name: str
    created_at: datetime
    documents: int
    chunks: int
