"""How documents are split."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from ragbase.settings.base import Section, env

__all__ = ["ChunkingSettings"]


class ChunkingSettings(Section):
    """How documents are split."""

    chunk_size: int = Field(
        512,
        ge=1,
        le=100_000,
        validation_alias=env("CHUNK_SIZE"),
        description="Most words of a chunk; the embedder's token limit caps it.",
    )
    chunk_overlap: int = Field(
        50,
        ge=0,
        validation_alias=env("CHUNK_OVERLAP"),
        description="Words that neighbouring chunks may share; below CHUNK_SIZE.",
    )

    @model_validator(mode="after")
    def _overlap_below_size(self) -> Self:
        if self.chunk_overlap >= self.chunk_size:
            raise ValueError(
                f"CHUNK_OVERLAP ({self.chunk_overlap}) must be below CHUNK_SIZE ({self.chunk_size})"
            )
        return self
