"""How much is stored and under way."""

from __future__ import annotations

from pydantic import BaseModel, Field

from ragbase.models.jobs import JobState

__all__ = ["CollectionStats", "Counts", "StatsOut"]


class Counts(BaseModel):
    """What is counted, of one collection or of all that the caller may read."""

    documents: int = 0
    chunks: int = 0
    entities: int = Field(default=0, description="Of the entity graph.")
    relations: int = Field(default=0, description="Of the entity graph.")
    jobs: dict[JobState, int] = Field(
        default_factory=dict, description="By state; ended ones until they expire."
    )


class CollectionStats(Counts):
    """One collection."""

    name: str


class StatsOut(Counts):
    """Totals, and the same for each collection, by name."""

    storage_bytes: int | None = Field(
        default=None,
        description="Disk space of tables and indexes; null for keys bound to collections.",
    )
    collections: list[CollectionStats] = Field(default_factory=list)
