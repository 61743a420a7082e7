"""Writes what a document's chunks contribute to the entity graph.

The order of locks is that of `graph_release` (schema) and so of every deletion: first the
document, then entities by id. Who waits for a document holds no entity, and who waits for an
entity holds only smaller ones; so writers and deleters of shared entities never wait in a circle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

from ragbase.errors import ConflictError
from ragbase.models.extraction import UNKNOWN, GraphCounts, NamedFacts
from ragbase.storage.pool import Connection

__all__ = ["lock_chunks", "write_facts"]

_TRIES: Final = 5
"""Looks for entities that another transaction may remove between making and locking them."""

_MAKE = """
    INSERT INTO entities (collection_id, normal_name, name)
    SELECT $1, u.normal, u.name FROM unnest($2::text[], $3::text[]) AS u (normal, name)
    WHERE NOT EXISTS (
        SELECT FROM entities WHERE collection_id = $1 AND normal_name = u.normal
    ) AND NOT EXISTS (
        SELECT FROM entity_aliases
        WHERE collection_id = $1 AND normal_alias = u.normal AND source = 'user'
    )
    ORDER BY u.normal
    ON CONFLICT DO NOTHING
"""
_LOCK = """
    WITH wanted AS (
        SELECT id FROM entities WHERE collection_id = $1 AND normal_name = ANY($2::text[])
        UNION
        SELECT entity_id FROM entity_aliases
        WHERE collection_id = $1 AND normal_alias = ANY($2::text[]) AND source = 'user'
        UNION
        SELECT entity_id FROM mentions WHERE chunk_id = ANY($3::bigint[])
        UNION
        SELECT unnest(ARRAY[r.source_id, r.target_id]) FROM relation_mentions m
        JOIN relations r ON r.id = m.relation_id WHERE m.chunk_id = ANY($3::bigint[])
    )
    SELECT e.id, e.normal_name FROM entities e JOIN wanted USING (id)
    ORDER BY e.id FOR NO KEY UPDATE OF e
"""
_ALIASES = """
    SELECT DISTINCT ON (normal_alias) normal_alias, entity_id FROM entity_aliases
    WHERE collection_id = $1 AND normal_alias = ANY($2::text[]) AND source = 'user'
    ORDER BY normal_alias, entity_id
"""
_MENTION = """
    INSERT INTO mentions AS old (chunk_id, entity_id, document_id, collection_id, type, description)
    SELECT u.chunk, u.entity, $1, $2, u.type, u.description
    FROM unnest($3::bigint[], $4::bigint[], $5::text[], $6::text[])
        AS u (chunk, entity, type, description)
    ORDER BY 1, 2
    ON CONFLICT (chunk_id, entity_id) DO UPDATE
    SET type = excluded.type, description = excluded.description
    WHERE (old.type, old.description) IS DISTINCT FROM (excluded.type, excluded.description)
"""
_RELATE = """
    INSERT INTO relations (collection_id, source_id, target_id)
    SELECT DISTINCT $1::bigint, u.source, u.target
    FROM unnest($2::bigint[], $3::bigint[]) AS u (source, target)
    WHERE NOT EXISTS (
        SELECT FROM relations WHERE source_id = u.source AND target_id = u.target
    )
    ORDER BY 2, 3
    ON CONFLICT DO NOTHING
"""
_RELATION_IDS = """
    SELECT r.source_id, r.target_id, r.id FROM relations r
    JOIN unnest($1::bigint[], $2::bigint[]) AS u (source, target)
        ON r.source_id = u.source AND r.target_id = u.target
"""
_RELATION_MENTION = """
    INSERT INTO relation_mentions AS old (chunk_id, relation_id, keywords, description, weight)
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::real[])
    ORDER BY 1, 2
    ON CONFLICT (chunk_id, relation_id) DO UPDATE SET keywords = excluded.keywords,
        description = excluded.description, weight = excluded.weight
    WHERE (old.keywords, old.description, old.weight)
        IS DISTINCT FROM (excluded.keywords, excluded.description, excluded.weight)
"""
_FORGET = """
    DELETE FROM {table} m WHERE m.chunk_id = ANY($1::bigint[]) AND NOT EXISTS (
        SELECT FROM unnest($2::bigint[], $3::bigint[]) AS u (chunk, key)
        WHERE u.chunk = m.chunk_id AND u.key = m.{key}
    )
"""
_NOTE = """
    INSERT INTO graphed_documents (document_id, extractor) VALUES ($1, $2)
    ON CONFLICT (document_id) DO UPDATE SET extractor = excluded.extractor, extracted_at = now()
"""


class _RemovedMeanwhileError(Exception):
    """An entity went between its making and its locking."""


class _Mention(NamedTuple):
    chunk_id: int
    entity_id: int
    type: str
    description: str


class _Relation(NamedTuple):
    chunk_id: int
    source_id: int
    target_id: int
    keywords: str
    description: str
    weight: float


async def lock_chunks(connection: Connection, document_id: int) -> tuple[int, list[int]] | None:
    """Lock the document against replacement and deletion: its collection's id, its chunks' ids.

    None when it is gone.
    """
    collection_id = await connection.fetchval(
        "SELECT collection_id FROM documents WHERE id = $1 FOR NO KEY UPDATE", document_id
    )
    if collection_id is None:
        return None
    rows = await connection.fetch("SELECT id FROM chunks WHERE document_id = $1", document_id)
    return collection_id, sorted(row[0] for row in rows)


async def write_facts(
    connection: Connection,
    document_id: int,
    collection_id: int,
    facts: Sequence[NamedFacts],
    extractor: str,
) -> GraphCounts:
    """Make ``facts`` what the document contributes, whatever it contributed before.

    ``facts`` has one item for each of its chunks, clean (`ragbase.ingest.facts`). Callers hold
    `lock_chunks`. Raises `ConflictError` where deletions kept coming between.
    """
    chunk_ids = [one.chunk_id for one in facts]
    names = _names(facts)
    ids, locked = await _entities(connection, collection_id, names, chunk_ids)
    mentions = _mentions(facts, ids)
    await connection.execute(_MENTION, document_id, collection_id, *_columns(mentions, width=4))
    relations = await _write_relations(connection, collection_id, _relations(facts, ids))
    await _forget(connection, "relation_mentions", "relation_id", chunk_ids, relations)
    kept = [(mention.chunk_id, mention.entity_id) for mention in mentions]
    await _forget(connection, "mentions", "entity_id", chunk_ids, kept)
    await connection.execute("SELECT graph_derive($1)", locked)
    await connection.execute(_NOTE, document_id, extractor)
    return GraphCounts(
        entities=len({mention.entity_id for mention in mentions}),
        relations=len({relation for _, relation in relations}),
        mentions=len(mentions),
    )


async def _entities(
    connection: Connection, collection_id: int, names: Mapping[str, str], chunk_ids: Sequence[int]
) -> tuple[dict[str, int], list[int]]:
    """Id of the entity of each normalised name, made where it is missing; and all that is locked,
    with the entities that the chunks named so far.
    """
    for _ in range(_TRIES):
        with suppress(_RemovedMeanwhileError):
            # A savepoint, so that nothing is held when names are made again: making one that
            # another transaction has just made waits for that transaction.
            async with connection.transaction():
                return await _made_and_locked(connection, collection_id, names, chunk_ids)
    raise ConflictError("Entities kept being removed meanwhile; try again.")


async def _made_and_locked(
    connection: Connection, collection_id: int, names: Mapping[str, str], chunk_ids: Sequence[int]
) -> tuple[dict[str, int], list[int]]:
    normal = sorted(names)
    await connection.execute(_MAKE, collection_id, normal, [names[name] for name in normal])
    rows = await connection.fetch(_LOCK, collection_id, normal, chunk_ids)
    locked = {row[0]: row[1] for row in rows}
    aliases = await connection.fetch(_ALIASES, collection_id, normal)
    # A name of its own wins over one that it was given as an alias.
    ids = {row[0]: row[1] for row in aliases if row[1] in locked}
    ids |= {name: key for key, name in locked.items() if name in names}
    if len(ids) < len(names):
        raise _RemovedMeanwhileError
    return ids, list(locked)


async def _write_relations(
    connection: Connection, collection_id: int, relations: Sequence[_Relation]
) -> list[tuple[int, int]]:
    """Store them; (chunk id, relation id) of each."""
    sources = [relation.source_id for relation in relations]
    targets = [relation.target_id for relation in relations]
    await connection.execute(_RELATE, collection_id, sources, targets)
    rows = await connection.fetch(_RELATION_IDS, sources, targets)
    ids = {(row[0], row[1]): row[2] for row in rows}
    own = [ids[relation.source_id, relation.target_id] for relation in relations]
    await connection.execute(
        _RELATION_MENTION,
        [relation.chunk_id for relation in relations],
        own,
        [relation.keywords for relation in relations],
        [relation.description for relation in relations],
        [relation.weight for relation in relations],
    )
    return [(relation.chunk_id, key) for relation, key in zip(relations, own, strict=True)]


async def _forget(
    connection: Connection,
    table: str,
    key: str,
    chunk_ids: Sequence[int],
    kept: Sequence[tuple[int, int]],
) -> None:
    await connection.execute(
        _FORGET.format(table=table, key=key), chunk_ids, *_columns(kept, width=2)
    )


def _columns(rows: Sequence[tuple[Any, ...]], *, width: int) -> list[list[Any]]:
    """Rows as the arrays that ``unnest`` takes; so many also where there is no row."""
    return [[row[column] for row in rows] for column in range(width)]


def _names(facts: Sequence[NamedFacts]) -> dict[str, str]:
    """The first spelling of each normalised name."""
    names: dict[str, str] = {}
    for one in facts:
        for entity in one.entities:
            names.setdefault(entity.normal_name, entity.name)
    return names


def _mentions(facts: Sequence[NamedFacts], ids: Mapping[str, int]) -> list[_Mention]:
    """One a chunk and entity; names that are one entity by an alias fall together."""
    found: dict[tuple[int, int], _Mention] = {}
    for one in facts:
        for entity in one.entities:
            key = one.chunk_id, ids[entity.normal_name]
            old = found.get(key)
            if old is None or (old.type == UNKNOWN and entity.type != UNKNOWN):
                found[key] = _Mention(*key, entity.type, entity.description)
    return list(found.values())


def _relations(facts: Sequence[NamedFacts], ids: Mapping[str, int]) -> list[_Relation]:
    found: dict[tuple[int, int, int], _Relation] = {}
    for one in facts:
        for fact in one.relations:
            source, target = ids[fact.source], ids[fact.target]
            if source != target:
                found.setdefault(
                    (one.chunk_id, source, target),
                    _Relation(
                        one.chunk_id,
                        source,
                        target,
                        fact.keywords,
                        fact.description,
                        fact.weight,
                    ),
                )
    return list(found.values())
