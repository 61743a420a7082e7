"""What lies around some entities: the chunks that name them, and those one entity further.

Two steps are enough: what lies further gets so little of a walk that restarts half of the time
that no ranking of a judged set changed (``docs/adr/0030-graph-arm.md``). Cuts, so that neither a
hub nor a large collection makes a search slow, each in a fixed order:

- an entity that more than `COMMON` chunks name tells none of them apart: the walk does not start
  from it, though it is weighed where others lead to its chunks;
- one that more than `CROSSED_MAX` chunks name is not crossed on the second step;
- each step keeps the `CHUNKS_MAX` chunks that most of its entities name, then those of least id.

A filter holds for every chunk, also for those that are only crossed, and for what counts as a hub.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ragbase.graph.pagerank import Floats, Indexes, MentionGraph, specificity
from ragbase.graph.rows import RowCondition
from ragbase.storage.pool import Connection

__all__ = [
    "CHUNKS_MAX",
    "COMMON",
    "CROSSED_MAX",
    "Neighbourhood",
    "load_neighbourhood",
    "neighbourhood_statement",
]

COMMON: Final = 500
CROSSED_MAX: Final = 50
CHUNKS_MAX: Final = 1000

_STATEMENT = """
WITH seeds AS MATERIALIZED (
    SELECT s.id
    FROM unnest($1::bigint[]) AS s (id)
    CROSS JOIN LATERAL (
        SELECT count(*) AS degree
        FROM (SELECT FROM mentions m {joined} WHERE m.entity_id = s.id{condition} LIMIT {over:d}) n
    ) d
    WHERE d.degree <= {common:d}
),
near AS MATERIALIZED (
    SELECT m.chunk_id
    FROM seeds s
    CROSS JOIN LATERAL (
        SELECT m.chunk_id FROM mentions m {joined} WHERE m.entity_id = s.id{condition} OFFSET 0
    ) m
    GROUP BY m.chunk_id
    ORDER BY count(*) DESC, m.chunk_id
    LIMIT {chunks:d}
),
crossed AS MATERIALIZED (
    SELECT e.entity_id
    FROM (
        SELECT DISTINCT m.entity_id
        FROM near n CROSS JOIN LATERAL (
            SELECT m.entity_id FROM mentions m WHERE m.chunk_id = n.chunk_id OFFSET 0
        ) m
    ) e
    CROSS JOIN LATERAL (
        SELECT count(*) AS degree
        FROM (
            SELECT FROM mentions m {joined} WHERE m.entity_id = e.entity_id{condition}
            LIMIT {crossed:d} + 1
        ) n
    ) d
    WHERE d.degree <= {crossed:d}
),
far AS MATERIALIZED (
    SELECT m.chunk_id
    FROM crossed e
    CROSS JOIN LATERAL (
        SELECT m.chunk_id FROM mentions m {joined}
        WHERE m.entity_id = e.entity_id{condition} OFFSET 0
    ) m
    GROUP BY m.chunk_id
    ORDER BY count(*) DESC, m.chunk_id
    LIMIT {chunks:d}
),
edges AS MATERIALIZED (
    SELECT m.chunk_id, m.document_id, m.entity_id
    FROM (SELECT chunk_id FROM near UNION SELECT chunk_id FROM far) n
    CROSS JOIN LATERAL (
        SELECT m.chunk_id, m.document_id, m.entity_id
        FROM mentions m WHERE m.chunk_id = n.chunk_id OFFSET 0
    ) m
),
degrees AS MATERIALIZED (
    SELECT e.entity_id, d.degree
    FROM (SELECT DISTINCT entity_id FROM edges) e
    CROSS JOIN LATERAL (
        SELECT count(*) AS degree
        FROM (
            SELECT FROM mentions m {joined} WHERE m.entity_id = e.entity_id{condition}
            LIMIT {over:d}
        ) n
    ) d
)
SELECT
    (SELECT array_agg(chunk_id) FROM edges),
    (SELECT array_agg(document_id) FROM edges),
    (SELECT array_agg(entity_id) FROM edges),
    (SELECT array_agg(entity_id) FROM degrees),
    (SELECT array_agg(degree) FROM degrees),
    (SELECT array_agg(id) FROM seeds)
"""


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The rows as a graph, and whose indexes its are; ids ascend. ``seeds``: those not too common."""

    graph: MentionGraph
    chunk_ids: Indexes
    document_ids: Indexes
    entity_ids: Indexes
    seeds: frozenset[int]

    def restart(self, weights: dict[int, float]) -> Floats:
        """Where walks begin: ``weights`` by entity id, times how telling each entity is."""
        start = np.zeros(self.entity_ids.size)
        for entity_id, weight in weights.items():
            at = int(np.searchsorted(self.entity_ids, entity_id))
            known = at < start.size and self.entity_ids[at] == entity_id
            if known and entity_id in self.seeds:
                start[at] = weight * self.graph.telling[at]
        return start


async def load_neighbourhood(
    connection: Connection, seeds: Sequence[int], filtered: RowCondition | None = None
) -> Neighbourhood | None:
    """The neighbourhood of these entities by one statement; None where nothing lies there.

    ``filtered`` is compiled with ``first=2``.
    """
    statement = neighbourhood_statement(filtered)
    row = await connection.fetchrow(statement, seeds, *(filtered.args if filtered else ()))
    return None if row is None or row[0] is None else _neighbourhood(*row)


def neighbourhood_statement(
    filtered: RowCondition | None,
    *,
    common: int = COMMON,
    crossed: int = CROSSED_MAX,
    chunks: int = CHUNKS_MAX,
) -> str:
    """SQL with the cuts as literals; $1 the seeds, then the filter's parameters."""
    return _STATEMENT.format(
        joined="JOIN chunks c ON c.id = m.chunk_id" if filtered else "",
        condition=f" AND ({filtered.sql})" if filtered else "",
        common=common,
        over=common + 1,
        crossed=crossed,
        chunks=chunks,
    )


def _neighbourhood(
    chunks: list[int],
    documents: list[int],
    entities: list[int],
    known: list[int],
    degrees: list[int],
    seeds: Any,
) -> Neighbourhood:
    chunk_of, document_of = np.array(chunks, np.int64), np.array(documents, np.int64)
    entity_of = np.array(entities, np.int64)
    order = np.lexsort((entity_of, chunk_of))
    chunk_ids, first, chunk = np.unique(chunk_of[order], return_index=True, return_inverse=True)
    entity_ids, entity = np.unique(entity_of[order], return_inverse=True)
    degree = np.empty(entity_ids.size)
    degree[np.searchsorted(entity_ids, np.array(known, np.int64))] = degrees
    graph = MentionGraph(chunk, entity, chunk_ids.size, degree, specificity(degree, COMMON))
    return Neighbourhood(graph, chunk_ids, document_of[order][first], entity_ids, frozenset(seeds))
