"""The graph's shape read from Postgres, where it is canonical: `ragbase.graph.store.GraphStore`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from ragbase.graph.communities import PostgresCommunities
from ragbase.graph.rows import RowCondition, told_by
from ragbase.graph.store import CompileCondition, Step
from ragbase.graph.walks import Link, walk_around, walk_between, walk_out
from ragbase.models.graph_reads import GraphKind
from ragbase.storage.pool import Connection, Database

__all__ = ["PostgresGraphStore"]

_NAMED = """
    SELECT s.id FROM unnest($1::bigint[]) WITH ORDINALITY AS s (id, place)
    WHERE EXISTS (
        SELECT FROM mentions m JOIN chunks c ON c.id = m.chunk_id
        WHERE m.entity_id = s.id AND ({condition})
    )
    ORDER BY s.place
"""
_AROUND = """
    SELECT DISTINCT n.id
    FROM unnest($1::bigint[]) AS s (id)
    CROSS JOIN LATERAL (
        (
            SELECT r.target_id AS id FROM relations r WHERE r.source_id = s.id{told}
            ORDER BY r.target_id LIMIT $3
        )
        UNION ALL
        (
            SELECT r.source_id FROM relations r WHERE r.target_id = s.id{told}
            ORDER BY r.source_id LIMIT $3
        )
    ) n
    WHERE n.id <> ALL($2::bigint[])
    ORDER BY n.id
    LIMIT $4
"""
_OUT = """
    SELECT DISTINCT n.id
    FROM unnest($1::bigint[]) AS s (id)
    CROSS JOIN LATERAL ({targets} LIMIT $3) n
    WHERE n.id <> ALL($2::bigint[])
    ORDER BY n.id
    LIMIT $4
"""
_TARGETS: Final[Mapping[GraphKind, str]] = {
    "entity": """
        SELECT r.target_id AS id FROM relations r
        WHERE r.source_id = s.id AND r.collection_id = ANY($5::bigint[])
        ORDER BY r.target_id
    """,
    "concept": """
        SELECT DISTINCT r.target_id AS id
        FROM concept_relations r JOIN concepts c ON c.id = r.target_id
        WHERE r.source_id = s.id AND c.collection_id = ANY($5::bigint[])
        ORDER BY r.target_id
    """,
}
_LINKED: Final[Mapping[GraphKind, str]] = {
    "entity": """
        SELECT n.id, min(n.via)
        FROM (
            SELECT target_id AS id, source_id AS via FROM relations
            WHERE source_id = ANY($1::bigint[]) AND collection_id = ANY($2::bigint[])
            UNION ALL
            SELECT source_id, target_id FROM relations
            WHERE target_id = ANY($1::bigint[]) AND collection_id = ANY($2::bigint[])
        ) n
        GROUP BY n.id
        LIMIT $3
    """,
    "concept": """
        SELECT n.id, min(n.via)
        FROM (
            SELECT target_id AS id, source_id AS via FROM concept_relations
            WHERE source_id = ANY($1::bigint[])
            UNION ALL
            SELECT source_id, target_id FROM concept_relations
            WHERE target_id = ANY($1::bigint[])
        ) n
        JOIN concepts c ON c.id = n.id AND c.collection_id = ANY($2::bigint[])
        GROUP BY n.id
        LIMIT $3
    """,
}


class PostgresGraphStore:
    """See `GraphStore`. Each method takes a connection of the pool for as long as it reads."""

    def __init__(self, database: Database, communities: PostgresCommunities) -> None:
        self._database = database
        self._communities = communities

    async def expand(
        self, seeds: Sequence[int], hops: int, filtered: CompileCondition | None = None
    ) -> list[int]:
        """See `GraphStore.expand`."""
        async with self._database.read() as connection:
            if filtered is not None and seeds:
                seeds = await _named(connection, seeds, filtered(2))
            condition = filtered(5) if filtered else None
            statement = _AROUND.format(told=told_by(condition))
            reached = partial(_reached, connection, statement, condition.args if condition else ())
            return await walk_around(reached, seeds, hops)

    async def neighbours(
        self, kind: GraphKind, start: int, depth: int, collections: Sequence[int], limit: int
    ) -> list[Step]:
        """See `GraphStore.neighbours`."""
        statement = _OUT.format(targets=_TARGETS[kind])
        async with self._database.read() as connection:
            reached = partial(_reached, connection, statement, [collections])
            return await walk_out(reached, start, depth, limit)

    async def path(
        self, kind: GraphKind, start: int, end: int, collections: Sequence[int], max_depth: int
    ) -> list[int] | None:
        """See `GraphStore.path`."""
        async with self._database.read() as connection:

            async def linked(level: Sequence[int], most: int) -> list[Link]:
                rows = await connection.fetch(_LINKED[kind], level, collections, most)
                return [(row[0], row[1]) for row in rows]

            return await walk_between(linked, start, end, max_depth)

    async def communities(self, kind: GraphKind, collections: Sequence[int]) -> dict[int, int]:
        """See `GraphStore.communities`."""
        return await self._communities.of(kind, collections)


async def _named(
    connection: Connection, seeds: Sequence[int], condition: RowCondition
) -> list[int]:
    """Those of the seeds that a matching chunk names."""
    rows = await connection.fetch(_NAMED.format(condition=condition.sql), seeds, *condition.args)
    return [row[0] for row in rows]


async def _reached(
    connection: Connection,
    statement: str,
    args: Sequence[Any],
    level: Sequence[int],
    seen: Sequence[int],
    fanout: int,
    room: int,
) -> list[int]:
    rows = await connection.fetch(statement, level, seen, fanout, room, *args)
    return [row[0] for row in rows]
