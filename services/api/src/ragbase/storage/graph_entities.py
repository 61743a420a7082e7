"""Entities as people see and mend them: list, rename, merge, delete.

Changes lock the entity and all that it is related to, by id, as every writer of the graph does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import asyncpg

from ragbase.errors import ConflictError
from ragbase.storage.pool import Connection

__all__ = [
    "EntityFilter",
    "StoredEntity",
    "delete_entity",
    "get_entity",
    "list_entities",
    "lock_entities",
    "merge_entities",
    "rename_entity",
]

_MAX_ID = 2**63 - 1
_SELECT = """
    SELECT e.id, k.name, e.name, e.normal_name, e.type, e.description, e.created_at,
        (SELECT count(*) FROM mentions WHERE entity_id = e.id),
        ARRAY(
            SELECT normal_alias FROM entity_aliases
            WHERE entity_id = e.id AND source = 'user' ORDER BY 1
        )
    FROM entities e JOIN collections k ON k.id = e.collection_id
"""
"""Columns in the order of `StoredEntity`'s fields."""
_WANTED = """
    ($1::text[] IS NULL OR k.name = ANY($1)) AND ($2::text IS NULL OR e.type = $2)
    AND ($3::text IS NULL OR e.normal_name LIKE $3)
"""
_LOCK = """
    WITH near AS (
        SELECT id FROM entities WHERE id = ANY($1::bigint[])
        UNION
        SELECT unnest(ARRAY[source_id, target_id]) FROM relations
        WHERE source_id = ANY($1::bigint[]) OR target_id = ANY($1::bigint[])
    )
    SELECT e.id, e.collection_id FROM entities e JOIN near USING (id) ORDER BY e.id FOR UPDATE OF e
"""
_MOVE_MENTIONS = """
    INSERT INTO mentions (chunk_id, entity_id, document_id, collection_id, type, description)
    SELECT DISTINCT ON (chunk_id) chunk_id, $1, document_id, collection_id, type, description
    FROM mentions WHERE entity_id = ANY($2::bigint[]) ORDER BY chunk_id, entity_id
    ON CONFLICT (chunk_id, entity_id) DO NOTHING
"""
_MOVED = """
    SELECT id AS old, CASE WHEN source_id = ANY($2::bigint[]) THEN $1 ELSE source_id END AS source,
        CASE WHEN target_id = ANY($2::bigint[]) THEN $1 ELSE target_id END AS target, collection_id
    FROM relations WHERE source_id = ANY($2::bigint[]) OR target_id = ANY($2::bigint[])
"""
_MAKE_RELATIONS = f"""
    INSERT INTO relations (collection_id, source_id, target_id)
    SELECT DISTINCT collection_id, source, target FROM ({_MOVED}) m WHERE source <> target
    ORDER BY 2, 3 ON CONFLICT DO NOTHING
"""  # noqa: S608 - a constant
_MOVE_RELATION_MENTIONS = f"""
    INSERT INTO relation_mentions AS own (chunk_id, relation_id, keywords, description, weight)
    SELECT r.chunk_id, n.id, min(r.keywords), min(r.description), sum(r.weight)
    FROM ({_MOVED}) m
    JOIN relations n ON n.source_id = m.source AND n.target_id = m.target
    JOIN relation_mentions r ON r.relation_id = m.old
    GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT (chunk_id, relation_id) DO UPDATE SET weight = own.weight + excluded.weight
"""  # noqa: S608 - a constant
_ALIASES = """
    INSERT INTO entity_aliases (collection_id, normal_alias, entity_id, source)
    SELECT collection_id, normal_name, $1::bigint, 'user' FROM entities WHERE id = ANY($2::bigint[])
    UNION
    SELECT collection_id, normal_alias, $1::bigint, source FROM entity_aliases
    WHERE entity_id = ANY($2::bigint[])
    ORDER BY 2
    ON CONFLICT (collection_id, normal_alias, entity_id) DO UPDATE SET source = 'user'
    WHERE excluded.source = 'user'
"""


@dataclass(frozen=True, slots=True)
class StoredEntity:
    """An entity; ``aliases`` are the normalised names that renames and merges have left to it."""

    id: int
    collection: str
    name: str
    normal_name: str
    type: str
    description: str
    created_at: datetime
    mentions: int
    aliases: Sequence[str]


@dataclass(frozen=True, slots=True)
class EntityFilter:
    """``collections``: names (None: all); ``text``: part of the normalised name."""

    collections: Sequence[str] | None = None
    type: str | None = None
    text: str | None = None


async def get_entity(
    connection: Connection, entity_id: int, collections: Sequence[str] | None = None
) -> StoredEntity | None:
    """One entity; None also when it lies outside ``collections`` (names; None: no limit)."""
    if not 0 < entity_id <= _MAX_ID:
        return None
    row = await connection.fetchrow(
        f"{_SELECT} WHERE e.id = $1 AND ($2::text[] IS NULL OR k.name = ANY($2))",
        entity_id,
        collections,
    )
    return None if row is None else StoredEntity(*row)


async def list_entities(
    connection: Connection, wanted: EntityFilter, *, offset: int, limit: int
) -> tuple[list[StoredEntity], int]:
    """A page by normalised name, then id; and how many there are."""
    like = None if wanted.text is None else f"%{_escaped(wanted.text)}%"
    condition = (wanted.collections, wanted.type, like)
    total: int = await connection.fetchval(
        "SELECT count(*) FROM entities e JOIN collections k ON k.id = e.collection_id "  # noqa: S608 - a constant
        f"WHERE {_WANTED}",
        *condition,
    )
    rows = await connection.fetch(
        f"{_SELECT} WHERE {_WANTED} ORDER BY e.normal_name, e.id OFFSET $4 LIMIT $5",
        *condition,
        min(offset, _MAX_ID),
        limit,
    )
    return [StoredEntity(*row) for row in rows], total


async def lock_entities(connection: Connection, entity_ids: Sequence[int]) -> dict[int, int]:
    """Lock the entities and what they are related to; the collection's id of each that exists."""
    rows = await connection.fetch(_LOCK, list(entity_ids))
    return {row[0]: row[1] for row in rows if row[0] in set(entity_ids)}


async def rename_entity(
    connection: Connection, entity_id: int, normal_name: str, name: str
) -> None:
    """Give an entity another name; new mentions of the old one go to it as well.

    Callers hold `lock_entities`. Raises `ConflictError` where another entity bears the name.
    """
    await connection.execute(_ALIASES, entity_id, [entity_id])
    try:
        async with connection.transaction():
            await connection.execute(
                "UPDATE entities SET normal_name = $2, name = $3 WHERE id = $1",
                entity_id,
                normal_name,
                name,
            )
    except asyncpg.UniqueViolationError as error:
        raise ConflictError(
            "Another entity of the collection has this name; merge the two instead.",
            code="entity_exists",
        ) from error
    await connection.execute(
        "DELETE FROM entity_aliases WHERE entity_id = $1 AND normal_alias = $2",
        entity_id,
        normal_name,
    )


async def merge_entities(connection: Connection, target_id: int, source_ids: Sequence[int]) -> None:
    """Make ``target_id`` all that the sources were: mentions, relations, names. They are gone then.

    A chunk that relates both to a third thing relates the target to it with the sum of the weights.
    Callers hold `lock_entities` of all.
    """
    sources = list(source_ids)
    await connection.execute(_MOVE_MENTIONS, target_id, sources)
    await connection.execute(_MAKE_RELATIONS, target_id, sources)
    await connection.execute(_MOVE_RELATION_MENTIONS, target_id, sources)
    await connection.execute(_ALIASES, target_id, sources)
    await connection.execute("DELETE FROM entities WHERE id = ANY($1::bigint[])", sources)
    await connection.execute(
        "DELETE FROM entity_aliases a USING entities e "
        "WHERE e.id = $1 AND a.entity_id = e.id AND a.normal_alias = e.normal_name",
        target_id,
    )
    await connection.execute("SELECT graph_derive(ARRAY[$1::bigint])", target_id)


async def delete_entity(connection: Connection, entity_id: int) -> None:
    """Remove an entity with its mentions and relations. Callers hold `lock_entities`."""
    await connection.execute("DELETE FROM entities WHERE id = $1", entity_id)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
