"""Rows of ``concepts``. Changes lock concepts first, by id, then their relations, by id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import asyncpg

from ragbase.errors import ConflictError, NotFoundError
from ragbase.storage.pool import Connection

__all__ = [
    "RELATIONS_MAX",
    "ConceptFilter",
    "StoredConcept",
    "change_concept",
    "delete_concept",
    "get_concept",
    "list_concepts",
    "outgoing",
    "put_concept",
]

RELATIONS_MAX: Final = 1000
"""Relations that are read along with a concept."""
_MAX_ID: Final = 2**63 - 1
_SELECT = """
    SELECT c.id, c.name, c.type, c.description, c.metadata, k.name
    FROM concepts c JOIN collections k ON k.id = c.collection_id
"""
"""Columns in the order of `StoredConcept`'s fields."""
_WANTED = """
    ($1::text[] IS NULL OR k.name = ANY($1)) AND ($2::text IS NULL OR c.type = $2)
    AND ($3::text IS NULL OR position(lower($3) IN lower(c.name)) > 0)
"""
_PUT = """
    INSERT INTO concepts (collection_id, name, type, description, metadata)
    VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (collection_id, name) DO UPDATE SET type = excluded.type,
        description = excluded.description, metadata = excluded.metadata
    RETURNING id
"""
_CHANGE = """
    UPDATE concepts SET name = coalesce($2, name), type = coalesce($3, type),
        description = coalesce($4, description), metadata = coalesce($5, metadata)
    WHERE id = $1
"""
_OUTGOING = """
    SELECT r.type, t.name, t.id FROM concept_relations r JOIN concepts t ON t.id = r.target_id
    WHERE r.source_id = $1 ORDER BY r.type COLLATE "C", t.name COLLATE "C", t.id LIMIT $2
"""


@dataclass(frozen=True, slots=True)
class StoredConcept:
    """A concept; ``collection`` is a name."""

    id: int
    name: str
    type: str
    description: str
    metadata: dict[str, Any]
    collection: str


@dataclass(frozen=True, slots=True)
class ConceptFilter:
    """``collections``: names (None: all); ``text``: part of the name, in any case."""

    collections: Sequence[str] | None = None
    type: str | None = None
    text: str | None = None


async def put_concept(
    connection: Connection,
    collection_id: int,
    name: str,
    *,
    type: str,  # noqa: A002 - the column's word
    description: str,
    metadata: Mapping[str, Any],
) -> int:
    """Make a concept, or replace all of one but its name and id; its id.

    Raises `NotFoundError` where the collection is gone.
    """
    try:
        made: int = await connection.fetchval(
            _PUT, collection_id, name, type, description, dict(metadata)
        )
    except asyncpg.ForeignKeyViolationError as error:
        raise NotFoundError("The collection is gone.", code="collection_not_found") from error
    return made


async def get_concept(
    connection: Connection, concept_id: int, collections: Sequence[str] | None = None
) -> StoredConcept | None:
    """One concept; None also when it lies outside ``collections`` (names; None: no limit)."""
    if not 0 < concept_id <= _MAX_ID:
        return None
    row = await connection.fetchrow(
        f"{_SELECT} WHERE c.id = $1 AND ($2::text[] IS NULL OR k.name = ANY($2))",
        concept_id,
        collections,
    )
    return None if row is None else StoredConcept(*row)


async def list_concepts(
    connection: Connection, wanted: ConceptFilter, *, offset: int, limit: int
) -> tuple[list[StoredConcept], int]:
    """A page by name (code points), then id; and how many there are."""
    condition = (wanted.collections, wanted.type, wanted.text)
    total: int = await connection.fetchval(
        "SELECT count(*) FROM concepts c JOIN collections k ON k.id = c.collection_id "  # noqa: S608 - a constant
        f"WHERE {_WANTED}",
        *condition,
    )
    rows = await connection.fetch(
        f'{_SELECT} WHERE {_WANTED} ORDER BY c.name COLLATE "C", c.id OFFSET $4 LIMIT $5',
        *condition,
        min(offset, _MAX_ID),
        limit,
    )
    return [StoredConcept(*row) for row in rows], total


async def change_concept(
    connection: Connection,
    concept_id: int,
    *,
    name: str | None = None,
    type: str | None = None,  # noqa: A002 - the column's word
    description: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> None:
    """Set what is not None. Raises `ConflictError` where another concept bears the name."""
    try:
        async with connection.transaction():
            await connection.execute(
                _CHANGE,
                concept_id,
                name,
                type,
                description,
                None if metadata is None else dict(metadata),
            )
    except asyncpg.UniqueViolationError as error:
        raise ConflictError(
            "Another concept of the collection has this name.", code="concept_exists"
        ) from error


async def delete_concept(connection: Connection, concept_id: int) -> bool:
    """Remove a concept with its relations; whether it was there. Callers are in a transaction."""
    await connection.execute("SELECT FROM concepts WHERE id = $1 FOR UPDATE", concept_id)
    # In one order with whoever removes the concept at the other end at the same moment.
    await connection.execute(
        "SELECT FROM concept_relations WHERE source_id = $1 OR target_id = $1 "
        "ORDER BY id FOR UPDATE",
        concept_id,
    )
    deleted = await connection.fetchval(
        "DELETE FROM concepts WHERE id = $1 RETURNING true", concept_id
    )
    return bool(deleted)


async def outgoing(
    connection: Connection, concept_id: int
) -> tuple[list[tuple[str, str, int]], int]:
    """(type, target's name, target's id) of the first `RELATIONS_MAX` relations that start at a
    concept; and how many do."""
    rows = await connection.fetch(_OUTGOING, concept_id, RELATIONS_MAX)
    total = len(rows)
    if total == RELATIONS_MAX:
        total = await connection.fetchval(
            "SELECT count(*) FROM concept_relations WHERE source_id = $1", concept_id
        )
    return [(row[0], row[1], row[2]) for row in rows], total
