"""Rows of ``concept_relations``: one for each (source, type, target)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragbase.storage.pool import Connection

__all__ = [
    "StoredRelation",
    "delete_relation",
    "list_relations",
    "put_relation",
]

_LOCK_ENDS = """
    SELECT id, name FROM concepts WHERE collection_id = $1 AND name = ANY($2::text[])
    ORDER BY id FOR KEY SHARE
"""
_PUT = """
    INSERT INTO concept_relations (source_id, target_id, type, metadata) VALUES ($1, $2, $3, $4)
    ON CONFLICT (source_id, type, target_id) DO UPDATE SET metadata = excluded.metadata
    RETURNING id
"""
_NEAR = """
    FROM concepts c JOIN concept_relations r ON r.source_id = c.id OR r.target_id = c.id
    WHERE c.collection_id = $1 AND c.name = $2
"""
_COUNT = f"SELECT count(*) {_NEAR}"
# Names are looked up for the page alone: a hub has more relations than are shown.
_PAGE = f"""
    SELECT r.id, s.name, t.name, r.type, r.metadata
    FROM (SELECT r.* {_NEAR} ORDER BY r.id OFFSET $3 LIMIT $4) r
    JOIN concepts s ON s.id = r.source_id JOIN concepts t ON t.id = r.target_id
    ORDER BY r.id
"""  # noqa: S608 - a constant


@dataclass(frozen=True, slots=True)
class StoredRelation:
    """A relation; ``source`` and ``target`` are names of concepts."""

    id: int
    source: str
    target: str
    type: str
    metadata: dict[str, Any]


async def put_relation(
    connection: Connection,
    collection_id: int,
    source: str,
    target: str,
    *,
    type: str,  # noqa: A002 - the column's word
    metadata: Mapping[str, Any],
) -> int | None:
    """Make a relation between two concepts, or replace the metadata of the same one; its id.

    None where one of the concepts is not there. Callers are in a transaction.
    """
    rows = await connection.fetch(_LOCK_ENDS, collection_id, [source, target])
    ends = {row[1]: row[0] for row in rows}
    if len(ends) < 2:
        return None
    made: int = await connection.fetchval(_PUT, ends[source], ends[target], type, dict(metadata))
    return made


async def list_relations(
    connection: Connection, collection_id: int, concept: str, *, offset: int, limit: int
) -> tuple[list[StoredRelation], int]:
    """A page, by id, of the relations that start or end at a concept; and how many there are."""
    total: int = await connection.fetchval(_COUNT, collection_id, concept)
    rows = await connection.fetch(_PAGE, collection_id, concept, offset, limit)
    return [StoredRelation(*row) for row in rows], total


async def delete_relation(
    connection: Connection, relation_id: int, collections: Sequence[str] | None = None
) -> bool:
    """Remove a relation of these collections (names; None: any); whether it was there."""
    deleted = await connection.fetchval(
        """
        DELETE FROM concept_relations r USING concepts c, collections k
        WHERE r.id = $1 AND c.id = r.source_id AND k.id = c.collection_id
            AND ($2::text[] IS NULL OR k.name = ANY($2))
        RETURNING true
        """,
        relation_id,
        collections,
    )
    return bool(deleted)
