"""Entities within some steps of others, and the relations among them.

Cuts, each in a fixed order: of a node's relations a step follows the `FANOUT` to the entities of
least id in each direction; at most `NODES_MAX` nodes, nearer ones and lower ids first; at most
`EDGES_MAX` relations, by the ids of source and target. With a filter, a relation counts that a
matching chunk tells of, and an entity that a matching chunk names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from ragbase.graph.rows import RowCondition
from ragbase.storage.pool import Connection

__all__ = ["EDGES_MAX", "FANOUT", "NODES_MAX", "Edge", "Node", "expand", "load_edges", "load_nodes"]

NODES_MAX: Final = 200
EDGES_MAX: Final = 500
FANOUT: Final = 100

_NAMED = """
    SELECT s.id FROM unnest($1::bigint[]) WITH ORDINALITY AS s (id, place)
    WHERE EXISTS (
        SELECT FROM mentions m JOIN chunks c ON c.id = m.chunk_id
        WHERE m.entity_id = s.id AND ({condition})
    )
    ORDER BY s.place
"""
_TOLD = """ AND EXISTS (
        SELECT FROM relation_mentions t JOIN chunks c ON c.id = t.chunk_id
        WHERE t.relation_id = r.id AND ({condition})
    )"""
_STEP = """
    SELECT DISTINCT n.id
    FROM unnest($1::bigint[]) AS s (id)
    CROSS JOIN LATERAL (
        (
            SELECT r.target_id AS id FROM relations r WHERE r.source_id = s.id{told}
            ORDER BY r.target_id LIMIT {fanout:d}
        )
        UNION ALL
        (
            SELECT r.source_id FROM relations r WHERE r.target_id = s.id{told}
            ORDER BY r.source_id LIMIT {fanout:d}
        )
    ) n
    WHERE n.id <> ALL($2::bigint[])
    ORDER BY n.id
    LIMIT $3
"""
_NODES = """
    SELECT e.id, e.name, e.type, e.description, k.name,
        (SELECT count(*) FROM relations r WHERE r.source_id = e.id)
            + (SELECT count(*) FROM relations r WHERE r.target_id = e.id)
    FROM entities e JOIN collections k ON k.id = e.collection_id
    WHERE e.id = ANY($1::bigint[])
"""
_EDGES = """
    SELECT r.source_id, r.target_id, t.descriptions, t.weight, t.keywords
    FROM (
        SELECT r.id, r.source_id, r.target_id FROM relations r
        WHERE r.source_id = ANY($1::bigint[]) AND r.target_id = ANY($1::bigint[]){told}
        ORDER BY r.source_id, r.target_id
        LIMIT {edges:d}
    ) r
    CROSS JOIN LATERAL (
        SELECT sum(t.weight) AS weight,
            array_agg(t.description ORDER BY t.chunk_id) AS descriptions,
            array_agg(t.keywords ORDER BY t.chunk_id) AS keywords
        FROM (
            SELECT t.chunk_id, t.weight, t.description, t.keywords
            FROM relation_mentions t {joined}
            WHERE t.relation_id = r.id{matching}
            ORDER BY t.chunk_id
            LIMIT 100
        ) t
    ) t
    ORDER BY r.source_id, r.target_id
"""
_DESCRIPTIONS_MAX: Final = 3


class Node(NamedTuple):
    """An entity; ``degree`` counts all its relations."""

    id: int
    name: str
    type: str
    description: str
    collection: str
    degree: int


class Edge(NamedTuple):
    """A relation from ``source`` to ``target`` (entity ids): up to three descriptions, a line
    each; keywords sorted, with commas between."""

    source: int
    target: int
    description: str
    weight: float
    keywords: str


async def expand(
    connection: Connection, seeds: Sequence[int], hops: int, filtered: RowCondition | None = None
) -> list[int]:
    """Entities within ``hops`` relations of the seeds in either direction: the seeds in their
    order, then nearer ones and lower ids first. ``filtered`` is compiled with ``first=4``."""
    found = await _named(connection, seeds, filtered)
    edge = found
    statement = _STEP.format(told=_told(filtered), fanout=FANOUT)
    args = filtered.args if filtered else []
    for _ in range(hops):
        room = NODES_MAX - len(found)
        if room <= 0 or not edge:
            break
        rows = await connection.fetch(statement, edge, found, room, *args)
        edge = [row[0] for row in rows]
        found = [*found, *edge]
    return found[:NODES_MAX]


async def _named(
    connection: Connection, seeds: Sequence[int], filtered: RowCondition | None
) -> list[int]:
    if filtered is None or not seeds:
        return list(seeds)
    # Its parameters are numbered from 4 on; the two between are not used here.
    statement = _NAMED.format(condition=filtered.sql) + "OFFSET $2::int LIMIT $3::int"
    rows = await connection.fetch(statement, seeds, 0, None, *filtered.args)
    return [row[0] for row in rows]


async def load_nodes(connection: Connection, ids: Sequence[int]) -> list[Node]:
    """The entities, in the order of ``ids``, without those that are gone."""
    rows = {row[0]: Node(*row) for row in await connection.fetch(_NODES, ids)}
    return [rows[one] for one in ids if one in rows]


async def load_edges(
    connection: Connection, ids: Sequence[int], filtered: RowCondition | None = None
) -> list[Edge]:
    """The relations among the entities. ``filtered`` is compiled with ``first=2``."""
    if len(ids) < 2:
        return []
    statement = _EDGES.format(
        told=_told(filtered),
        edges=EDGES_MAX,
        joined="JOIN chunks c ON c.id = t.chunk_id" if filtered else "",
        matching=f" AND ({filtered.sql})" if filtered else "",
    )
    rows = await connection.fetch(statement, ids, *(filtered.args if filtered else ()))
    return [
        Edge(source, target, _lines(descriptions), float(weight or 0.0), _words(keywords))
        for source, target, descriptions, weight, keywords in rows
    ]


def _told(filtered: RowCondition | None) -> str:
    return _TOLD.format(condition=filtered.sql) if filtered else ""


def _lines(descriptions: Sequence[str] | None) -> str:
    distinct = dict.fromkeys(text for text in descriptions or () if text)
    return "\n".join(list(distinct)[:_DESCRIPTIONS_MAX])


def _words(keywords: Sequence[str] | None) -> str:
    parts = {word.strip() for text in keywords or () for word in text.split(",")}
    return ",".join(sorted(parts - {""}))
