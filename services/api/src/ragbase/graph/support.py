"""The chunks that name some entities, by how many of them they name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from ragbase.graph.rows import RowCondition
from ragbase.storage.pool import Connection

__all__ = ["PER_ENTITY_MAX", "SupportedChunk", "load_support", "support_of"]

PER_ENTITY_MAX: Final = 1000
"""Chunks looked at of one entity: those of least id. Of a hub, chunks that other nodes are named in
too are found by those."""

_BEST = """
    SELECT b.chunk_id, b.document_id, c.content, d.title, d.external_id, b.entities
    FROM (
        SELECT m.chunk_id, m.document_id, array_agg(m.entity_id ORDER BY m.entity_id) AS entities
        FROM (
            SELECT n.chunk_id
            FROM unnest($1::bigint[]) AS e (id)
            CROSS JOIN LATERAL (
                SELECT m.chunk_id FROM mentions m {joined}
                WHERE m.entity_id = e.id{matching}
                ORDER BY m.chunk_id
                LIMIT {most:d}
            ) n
            GROUP BY n.chunk_id
            ORDER BY count(*) DESC, n.chunk_id
            LIMIT $2
        ) k
        JOIN mentions m ON m.chunk_id = k.chunk_id AND m.entity_id = ANY($1::bigint[])
        GROUP BY m.chunk_id, m.document_id
    ) b
    JOIN chunks c ON c.id = b.chunk_id
    JOIN documents d ON d.id = b.document_id
    ORDER BY cardinality(b.entities) DESC, b.chunk_id
"""
_THESE = """
    SELECT c.id, c.document_id, c.content, d.title, d.external_id, ARRAY(
        SELECT m.entity_id FROM mentions m
        WHERE m.chunk_id = c.id AND m.entity_id = ANY($1::bigint[]) ORDER BY m.entity_id
    )
    FROM chunks c JOIN documents d ON d.id = c.document_id
    WHERE c.id = ANY($2::bigint[])
"""


class SupportedChunk(NamedTuple):
    """A chunk and those of the entities that it names, by id."""

    chunk_id: int
    document_id: int
    content: str
    title: str
    external_id: str | None
    entities: list[int]


async def load_support(
    connection: Connection,
    entity_ids: Sequence[int],
    limit: int,
    filtered: RowCondition | None = None,
) -> list[SupportedChunk]:
    """The chunks that name most of the entities, then by id. ``filtered``: ``first=3``."""
    statement = _BEST.format(
        joined="JOIN chunks c ON c.id = m.chunk_id" if filtered else "",
        matching=f" AND ({filtered.sql})" if filtered else "",
        most=PER_ENTITY_MAX,
    )
    args = filtered.args if filtered else ()
    return [
        SupportedChunk(*row) for row in await connection.fetch(statement, entity_ids, limit, *args)
    ]


async def support_of(
    connection: Connection, entity_ids: Sequence[int], chunk_ids: Sequence[int]
) -> list[SupportedChunk]:
    """These chunks in their order, with what they name of the entities."""
    rows = await connection.fetch(_THESE, entity_ids, chunk_ids)
    found = {row[0]: SupportedChunk(*row) for row in rows}
    return [found[one] for one in chunk_ids if one in found]
