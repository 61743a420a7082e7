"""What the entities and relations of a subgraph say, read from Postgres by ids.

The ids come from a `ragbase.graph.store.GraphStore`, which may lag behind: what is gone, or of no
collection that may be seen, falls out here. The relations among them are told from here too: what
they say is read anyway, and an index that holds both ends finds them whatever hangs on a hub.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from ragbase.graph.rows import RowCondition, told_by
from ragbase.storage.pool import Connection

__all__ = ["EDGES_MAX", "Edge", "Node", "load_edges", "load_nodes"]

_NODES = """
    SELECT e.id, e.name, e.type, e.description, k.name,
        (SELECT count(*) FROM relations r WHERE r.source_id = e.id)
            + (SELECT count(*) FROM relations r WHERE r.target_id = e.id)
    FROM entities e JOIN collections k ON k.id = e.collection_id
    WHERE e.id = ANY($1::bigint[]) AND e.collection_id = ANY($2::bigint[])
"""
_EDGES = """
    SELECT r.source_id, r.target_id, t.descriptions, t.weight, t.keywords
    FROM (
        SELECT r.id, r.source_id, r.target_id FROM relations r
        WHERE r.source_id = ANY($1::bigint[]) AND r.target_id = ANY($1::bigint[]){told}
        ORDER BY r.source_id, r.target_id
        LIMIT {most:d}
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
EDGES_MAX: Final = 500
"""Relations among some entities, by the ids of source and target."""


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


async def load_nodes(
    connection: Connection, ids: Sequence[int], collections: Sequence[int]
) -> list[Node]:
    """The entities of the collections (ids), in the order of ``ids``, without those that are gone."""
    found = await connection.fetch(_NODES, ids, collections)
    rows = {row[0]: Node(*row) for row in found}
    return [rows[one] for one in ids if one in rows]


async def load_edges(
    connection: Connection,
    ids: Sequence[int],
    filtered: RowCondition | None = None,
) -> list[Edge]:
    """The relations among these entities, by the ids of source and target; at most `EDGES_MAX`.

    ``filtered``: those that a matching chunk tells of, and what such chunks say; ``first=2``.
    """
    if len(ids) < 2:
        return []
    statement = _EDGES.format(
        joined="JOIN chunks c ON c.id = t.chunk_id" if filtered else "",
        matching=f" AND ({filtered.sql})" if filtered else "",
        told=told_by(filtered),
        most=EDGES_MAX,
    )
    rows = await connection.fetch(statement, ids, *(filtered.args if filtered else ()))
    return [
        Edge(source, target, _lines(descriptions), float(weight or 0.0), _words(keywords))
        for source, target, descriptions, weight, keywords in rows
    ]


def _lines(descriptions: Sequence[str] | None) -> str:
    distinct = dict.fromkeys(text for text in descriptions or () if text)
    return "\n".join(list(distinct)[:_DESCRIPTIONS_MAX])


def _words(keywords: Sequence[str] | None) -> str:
    parts = {word.strip() for text in keywords or () for word in text.split(",")}
    return ",".join(sorted(parts - {""}))
