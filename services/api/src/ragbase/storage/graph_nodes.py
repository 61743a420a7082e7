"""Concepts and entities alike, as nodes: where they are, what they are called, how many."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from ragbase.models.graph_reads import GraphKind
from ragbase.storage.pool import Connection

__all__ = ["GraphNode", "all_nodes", "count_graphs", "load_nodes", "locate_nodes"]

_MAX_ID: Final = 2**63 - 1
_TABLE: Final[Mapping[GraphKind, str]] = {"concept": "concepts", "entity": "entities"}
_COUNT_ALL: Final = """
    SELECT (SELECT count(*) FROM concepts), (SELECT count(*) FROM concept_relations),
        (SELECT count(*) FROM entities), (SELECT count(*) FROM relations)
"""
_COUNT_SOME: Final = """
    WITH k AS (SELECT id FROM collections WHERE name = ANY($1))
    SELECT
        (SELECT count(*) FROM concepts WHERE collection_id IN (SELECT id FROM k)),
        (SELECT count(*) FROM concept_relations r JOIN concepts c ON c.id = r.source_id
            WHERE c.collection_id IN (SELECT id FROM k)),
        (SELECT count(*) FROM entities WHERE collection_id IN (SELECT id FROM k)),
        (SELECT count(*) FROM relations WHERE collection_id IN (SELECT id FROM k))
"""


class GraphNode(NamedTuple):
    """A concept or an entity."""

    id: int
    name: str
    type: str


async def locate_nodes(
    connection: Connection,
    kind: GraphKind,
    ids: Sequence[int],
    collections: Sequence[str] | None = None,
) -> dict[int, int]:
    """Node → id of its collection, of those that are in ``collections`` (names; None: any)."""
    rows = await connection.fetch(
        f"SELECT n.id, k.id FROM {_TABLE[kind]} n JOIN collections k ON k.id = n.collection_id "  # noqa: S608 - a constant
        "WHERE n.id = ANY($1::bigint[]) AND ($2::text[] IS NULL OR k.name = ANY($2))",
        [one for one in ids if 0 < one <= _MAX_ID],
        collections,
    )
    return {row[0]: row[1] for row in rows}


async def load_nodes(
    connection: Connection, kind: GraphKind, ids: Sequence[int], collection_id: int
) -> dict[int, GraphNode]:
    """The nodes by id, without those that are gone or of another collection."""
    rows = await connection.fetch(
        f"SELECT id, name, type FROM {_TABLE[kind]} "  # noqa: S608 - a constant
        "WHERE id = ANY($1::bigint[]) AND collection_id = $2",
        ids,
        collection_id,
    )
    return {row[0]: GraphNode(*row) for row in rows}


async def all_nodes(
    connection: Connection, kind: GraphKind, collection_ids: Sequence[int]
) -> list[GraphNode]:
    """Every node of the collections, by name (code points), then id."""
    rows = await connection.fetch(
        f"SELECT id, name, type FROM {_TABLE[kind]} "  # noqa: S608 - a constant
        'WHERE collection_id = ANY($1::bigint[]) ORDER BY name COLLATE "C", id',
        collection_ids,
    )
    # In a thread: 100,000 of them take a tenth of a second.
    return await asyncio.to_thread(lambda: [GraphNode(*row) for row in rows])


async def count_graphs(
    connection: Connection, collections: Sequence[str] | None = None
) -> tuple[int, int, int, int]:
    """Concepts, their relations, entities and theirs, in ``collections`` (names; None: all)."""
    if collections is None:
        row = await connection.fetchrow(_COUNT_ALL)
    else:
        row = await connection.fetchrow(_COUNT_SOME, collections)
    assert row is not None
    return row[0], row[1], row[2], row[3]
