"""API keys: as stored, and as the bodies of the key routes."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from ragbase.models.access import Access, Scope
from ragbase.models.documents import CollectionName

__all__ = ["ApiKey", "KeyCreated", "KeyIn", "KeyOut"]

BINDING_MAX = 1000


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as stored: its public id, and the SHA-256 of the whole key in place of the secret."""

    key_id: str
    name: str
    secret_hash: bytes = field(repr=False)
    scopes: tuple[Scope, ...]
    collections: tuple[str, ...] | None
    created_at: datetime
    expires_at: datetime | None = None
    last_used_at: datetime | None = None
    revoked_at: datetime | None = None

    def access(self) -> Access:
        """What its bearer may do."""
        bound = None if self.collections is None else frozenset(self.collections)
        return Access(frozenset(self.scopes), bound, self.key_id)


class KeyIn(BaseModel):
    """A key to make."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {"name": "wiki reader", "scopes": ["read"], "collections": ["wiki"]}
        }
    )

    name: str = Field(min_length=1, max_length=200, description="For people: who uses it, where.")
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=3)] = Field(
        default=["read"],
        description="`read` searches and lists, `write` changes documents, `admin` does all and "
        "manages collections and keys.",
    )
    collections: (
        Annotated[list[CollectionName], Field(min_length=1, max_length=BINDING_MAX)] | None
    ) = Field(
        default=None,
        description="The only collections that exist for this key; they need not exist yet. "
        "Left out: all, also later ones.",
    )
    expires_at: AwareDatetime | None = Field(
        default=None, description="With a time zone; left out: never."
    )


class KeyOut(BaseModel):
    """A key without its secret."""

    id: str = Field(description="Public part of the key.")
    name: str
    scopes: list[Scope]
    collections: list[str] | None
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None = Field(description="To the minute; null: not yet.")
    revoked_at: datetime | None


class KeyCreated(KeyOut):
    """A key just made."""

    key: str = Field(description="The whole key. It is shown here and never again.")
