"""Bodies of the entity routes."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, Field

__all__ = ["EntityMerge", "EntityOut", "EntityPatch"]


class EntityOut(BaseModel):
    """Something that documents name."""

    id: int
    collection: str
    name: str
    type: str = Field(
        description="The most frequent one among its mentions; `title`: known only as a title."
    )
    description: str = Field(description="What its mentions say, distinct, the first eight.")
    mentions: int = Field(description="Chunks that name it.")
    aliases: list[str] = Field(
        description="Normalised names that renames and merges have left to it; documents that use "
        "them name this entity."
    )
    created_at: datetime


class EntityPatch(BaseModel):
    """A change of name; type and description follow from what documents say."""

    name: str = Field(min_length=1, max_length=256)


class EntityMerge(BaseModel):
    """Several entities that are one thing."""

    target_id: int = Field(description="The entity that stays, with its name.")
    source_ids: list[int] = Field(
        min_length=1, max_length=100, description="Entities that become part of it."
    )
