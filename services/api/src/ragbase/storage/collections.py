"""Rows of ``collections``; ``default`` is always there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragbase.errors import ConflictError
from ragbase.models.domain import Collection
from ragbase.storage.pool import Connection

__all__ = [
    "DEFAULT",
    "Counts",
    "count_contents",
    "create_collection",
    "delete_collection",
    "get_collection",
    "list_collections",
    "update_collection",
]

DEFAULT = "default"

_SELECT = """
    SELECT k.id, k.name, k.language, k.fusion, k.chunking, m.name, k.embedding_model_id,
        k.created_at, k.contextual_retrieval
    FROM collections k LEFT JOIN embedding_models m ON m.id = k.embedding_model_id
"""
"""Columns in the order of `Collection`'s fields."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How much a collection holds."""

    documents: int = 0
    chunks: int = 0


async def get_collection(connection: Connection, name: str) -> Collection | None:
    """The collection of this name."""
    row = await connection.fetchrow(f"{_SELECT} WHERE k.name = $1", name)
    return None if row is None else Collection(*row)


async def list_collections(
    connection: Connection, names: Sequence[str] | None = None
) -> list[Collection]:
    """All collections, or those of ``names`` that exist, by name."""
    rows = await connection.fetch(
        f"{_SELECT} WHERE $1::text[] IS NULL OR k.name = ANY($1) ORDER BY k.name", names
    )
    return [Collection(*row) for row in rows]


async def create_collection(
    connection: Connection,
    name: str,
    *,
    language: str = "english",
    fusion: Mapping[str, Any] | None = None,
    chunking: Mapping[str, int] | None = None,
    contextual_retrieval: bool = False,
) -> Collection:
    """Make a collection. Raises `ConflictError` when the name is taken."""
    made = await connection.fetchval(
        "INSERT INTO collections (name, language, fusion, chunking, contextual_retrieval) "
        "VALUES ($1, $2, $3, $4, $5) ON CONFLICT (name) DO NOTHING RETURNING id",
        name,
        language,
        _json(fusion),
        _json(chunking),
        contextual_retrieval,
    )
    if made is None:
        raise ConflictError(f"Collection {name!r} exists already.", code="collection_exists")
    return await _read(connection, name)


async def update_collection(
    connection: Connection,
    name: str,
    *,
    language: str,
    fusion: Mapping[str, Any] | None,
    chunking: Mapping[str, int] | None,
    contextual_retrieval: bool = False,
) -> Collection | None:
    """Set a collection's settings; None when there is no such collection.

    Documents already stored keep the chunks and terms they have.
    """
    found = await connection.fetchval(
        "UPDATE collections SET language = $2, fusion = $3, chunking = $4, "
        "contextual_retrieval = $5 WHERE name = $1 RETURNING id",
        name,
        language,
        _json(fusion),
        _json(chunking),
        contextual_retrieval,
    )
    return None if found is None else await _read(connection, name)


async def delete_collection(connection: Connection, name: str) -> bool:
    """Remove a collection with all its documents; whether there was one.

    Raises `ConflictError` for ``default``.
    """
    if name == DEFAULT:
        raise ConflictError(
            "The collection 'default' cannot be deleted; delete its documents instead.",
            code="default_collection",
        )
    async with connection.transaction():
        key = await connection.fetchval(
            "SELECT id FROM collections WHERE name = $1 FOR UPDATE", name
        )
        # By id, as whoever relates them: the cascade takes rows as they lie on disk.
        await connection.execute(
            "SELECT FROM concepts WHERE collection_id = $1 ORDER BY id FOR UPDATE", key
        )
        deleted = await connection.fetchval(
            "DELETE FROM collections WHERE id = $1 RETURNING true", key
        )
    return bool(deleted)


async def count_contents(
    connection: Connection, collection_ids: Sequence[int] | None = None
) -> dict[int, Counts]:
    """Documents and chunks of each collection (of these ids, or of all)."""
    rows = await connection.fetch(
        """
        SELECT k.id,
            (SELECT count(*) FROM documents d WHERE d.collection_id = k.id),
            (SELECT count(*) FROM chunks c WHERE c.collection_id = k.id)
        FROM collections k WHERE $1::bigint[] IS NULL OR k.id = ANY($1)
        """,
        collection_ids,
    )
    return {row[0]: Counts(row[1], row[2]) for row in rows}


async def _read(connection: Connection, name: str) -> Collection:
    collection = await get_collection(connection, name)
    if collection is None:
        raise ConflictError(f"Collection {name!r} was deleted meanwhile.")
    return collection


def _json(value: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if value is None else dict(value)
