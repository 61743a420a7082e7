"""The graph as a projection holds it: nodes and relations with the properties of the contract (§12).

Read by ids, so that a projection is made so, and in pages, so that it is compared. Pieces of
``source_id`` and ``description`` stand between `SEP`, as tools that read such a graph expect it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from ragbase.storage.pool import Connection

__all__ = [
    "SEP",
    "SOURCES_MAX",
    "Pair",
    "ProjectedEdge",
    "ProjectedNode",
    "Properties",
    "page_ids",
    "pairs_of",
    "read_concept_relations",
    "read_concepts",
    "read_entities",
    "read_relations",
]

Pair: TypeAlias = tuple[int, int]
"""Ids of a relation's source and target."""
Properties: TypeAlias = dict[str, Any]

SEP: Final = "<SEP>"
SOURCES_MAX: Final = 300
"""Chunks named in ``source_id``: the newest, as there."""
_FILE_PATH: Final = "unknown_source"

_ENTITIES = f"""
    SELECT e.id, e.collection_id, k.name, e.name, e.type, e.description,
        extract(epoch FROM e.created_at)::bigint,
        ARRAY(
            SELECT chunk_id FROM mentions WHERE entity_id = e.id
            ORDER BY chunk_id DESC LIMIT {SOURCES_MAX + 1}
        )
    FROM entities e JOIN collections k ON k.id = e.collection_id
    WHERE e.id = ANY($1::bigint[])
    ORDER BY e.id
"""  # noqa: S608 - a constant
# Of an entity pair that everything relates, the thousand oldest mentions are weighed, as entities'.
_RELATIONS = f"""
    SELECT r.source_id, r.target_id, r.id, r.collection_id, k.name,
        extract(epoch FROM r.created_at)::bigint, t.weight, t.descriptions, t.keywords,
        ARRAY(
            SELECT chunk_id FROM relation_mentions WHERE relation_id = r.id
            ORDER BY chunk_id DESC LIMIT {SOURCES_MAX + 1}
        )
    FROM unnest($1::bigint[], $2::bigint[]) AS u (source, target)
    JOIN relations r ON r.source_id = u.source AND r.target_id = u.target
    JOIN collections k ON k.id = r.collection_id
    CROSS JOIN LATERAL (
        SELECT sum(m.weight) AS weight,
            array_agg(m.description ORDER BY m.chunk_id) AS descriptions,
            array_agg(m.keywords ORDER BY m.chunk_id) AS keywords
        FROM (
            SELECT chunk_id, weight::double precision, description, keywords
            FROM relation_mentions WHERE relation_id = r.id ORDER BY chunk_id LIMIT 1000
        ) m
    ) t
    ORDER BY r.source_id, r.target_id
"""  # noqa: S608 - a constant
_CONCEPTS = """
    SELECT c.id, c.collection_id, k.name, c.name, c.type, c.description, c.metadata,
        extract(epoch FROM c.created_at)::bigint
    FROM concepts c JOIN collections k ON k.id = c.collection_id
    WHERE c.id = ANY($1::bigint[])
    ORDER BY c.id
"""
_CONCEPT_RELATIONS = """
    SELECT r.source_id, r.target_id, r.id, r.type, r.metadata,
        extract(epoch FROM r.created_at)::bigint
    FROM unnest($1::bigint[], $2::bigint[]) AS u (source, target)
    JOIN concept_relations r ON r.source_id = u.source AND r.target_id = u.target
    ORDER BY r.source_id, r.target_id, r.type
"""
_IDS = "SELECT id FROM {table} WHERE id > $1 ORDER BY id LIMIT $2"
_PAIRS = """
    SELECT DISTINCT source_id, target_id FROM {table} WHERE source_id > $1 AND source_id <= $2
    ORDER BY 1, 2
"""
_DESCRIPTIONS_MAX: Final = 8


class ProjectedNode(NamedTuple):
    """``properties`` hold ``ragbase_id``, which is ``id``."""

    id: int
    properties: Properties


class ProjectedEdge(NamedTuple):
    """``type`` is the relation's of concepts, of which a pair may have several; else empty."""

    source: int
    target: int
    type: str
    properties: Properties

    @property
    def pair(self) -> Pair:
        """Its ends."""
        return self.source, self.target


async def read_entities(connection: Connection, ids: Collection[int]) -> list[ProjectedNode]:
    """Those of the entities that exist, by id."""
    return [
        ProjectedNode(
            key,
            {
                "ragbase_id": key,
                "collection_id": collection_id,
                "collection": collection,
                "entity_id": name,
                "entity_type": type_,
                "description": description.replace("\n", SEP),
                **_sources(chunks),
                "file_path": _FILE_PATH,
                "created_at": created_at,
            },
        )
        for key, collection_id, collection, name, type_, description, created_at, chunks in (
            await connection.fetch(_ENTITIES, sorted(ids))
        )
    ]


async def read_relations(connection: Connection, pairs: Collection[Pair]) -> list[ProjectedEdge]:
    """Those of the entities' relations that exist, by source and target."""
    return [
        ProjectedEdge(
            source,
            target,
            "",
            {
                "ragbase_id": key,
                "collection_id": collection_id,
                "collection": collection,
                "description": SEP.join(_distinct(descriptions)[:_DESCRIPTIONS_MAX]),
                "keywords": ",".join(sorted(_distinct(_words(keywords)))),
                "weight": round(weight or 0.0, 6),
                **_sources(chunks),
                "file_path": _FILE_PATH,
                "created_at": created_at,
            },
        )
        for (
            source,
            target,
            key,
            collection_id,
            collection,
            created_at,
            weight,
            descriptions,
            keywords,
            chunks,
        ) in await connection.fetch(_RELATIONS, *_columns(pairs))
    ]


async def read_concepts(connection: Connection, ids: Collection[int]) -> list[ProjectedNode]:
    """Those of the concepts that exist, by id; metadata as a JSON string, as the contract has it."""
    return [
        ProjectedNode(
            key,
            {
                "ragbase_id": key,
                "collection_id": collection_id,
                "collection": collection,
                "name": name,
                "type": type_,
                "description": description,
                "metadata": _json(metadata),
                "created_at": created_at,
            },
        )
        for key, collection_id, collection, name, type_, description, metadata, created_at in (
            await connection.fetch(_CONCEPTS, sorted(ids))
        )
    ]


async def read_concept_relations(
    connection: Connection, pairs: Collection[Pair]
) -> list[ProjectedEdge]:
    """Those of the concepts' relations that exist, by source, target and type."""
    return [
        ProjectedEdge(
            source,
            target,
            type_,
            {
                "ragbase_id": key,
                "type": type_,
                "metadata": _json(metadata),
                "created_at": created_at,
            },
        )
        for source, target, key, type_, metadata, created_at in (
            await connection.fetch(_CONCEPT_RELATIONS, *_columns(pairs))
        )
    ]


async def page_ids(connection: Connection, table: str, after: int, limit: int) -> list[int]:
    """The next ids of ``entities`` or ``concepts``."""
    rows = await connection.fetch(_IDS.format(table=table), after, limit)
    return [row[0] for row in rows]


async def pairs_of(connection: Connection, table: str, after: int, upto: int) -> list[Pair]:
    """(source, target) of ``relations`` or ``concept_relations`` with a source in (after, upto]."""
    rows = await connection.fetch(_PAIRS.format(table=table), after, upto)
    return [(row[0], row[1]) for row in rows]


def _columns(pairs: Collection[Pair]) -> tuple[list[int], list[int]]:
    ordered = sorted(pairs)
    return [source for source, _ in ordered], [target for _, target in ordered]


def _sources(chunks: Sequence[int]) -> Properties:
    """``chunks``: newest first, one more than is kept where there are more."""
    kept = sorted(chunks[:SOURCES_MAX])
    cut = len(chunks) > SOURCES_MAX
    return {
        "source_id": SEP.join(f"chunk-{chunk}" for chunk in kept),
        "truncate": f"FIFO {SOURCES_MAX}/{SOURCES_MAX}+" if cut else "",
    }


def _distinct(texts: Iterable[str] | None) -> list[str]:
    return list(dict.fromkeys(text for text in texts or () if text))


def _words(keywords: Iterable[str] | None) -> list[str]:
    return [word.strip() for text in keywords or () for word in text.split(",")]


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
