"""What lies around some entities: the chunks that name them, and those one entity further.

Two steps are enough: what lies further gets so little of a walk that restarts half of the time
that no ranking of a judged set changed (``docs/adr/0030-graph-arm.md``). Cuts, so that neither a
hub nor a large collection makes a search slow, each in a fixed order:

- an entity that more than ``common`` chunks name tells none of them apart: the walk does not start
  from it, though it is weighed where others lead to its chunks;
- one that more than ``crossed`` chunks name is not crossed on the second step;
- each step keeps the ``chunks`` chunks that most of its entities name, then those of least id.

An entity's chunks are counted up to ``common`` + 1, or as many as were met.

A filter holds for every chunk, also for those that are only crossed, and for what counts as a hub.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from ragbase.graph.pagerank import Floats, Indexes, MentionGraph, specificity
from ragbase.graph.rows import RowCondition
from ragbase.storage.pool import Connection

__all__ = ["CUTS", "Cuts", "Neighbourhood", "load_neighbourhood"]


@dataclass(frozen=True, slots=True)
class Cuts:
    """Where a neighbourhood ends, see above."""

    common: int = 500
    crossed: int = 50
    chunks: int = 1000


CUTS: Final = Cuts()

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
    SELECT m.chunk_id, m.entity_id
    FROM (SELECT chunk_id FROM near UNION SELECT chunk_id FROM far) n
    CROSS JOIN LATERAL (
        SELECT m.chunk_id, m.entity_id
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
    connection: Connection,
    seeds: Sequence[int],
    filtered: RowCondition | None = None,
    cuts: Cuts = CUTS,
) -> Neighbourhood | None:
    """The neighbourhood of these entities by one statement; None where nothing lies there.

    ``filtered`` is compiled with ``first=2``.
    """
    statement = _STATEMENT.format(
        joined="JOIN chunks c ON c.id = m.chunk_id" if filtered else "",
        condition=f" AND ({filtered.sql})" if filtered else "",
        common=cuts.common,
        over=cuts.common + 1,
        crossed=cuts.crossed,
        chunks=cuts.chunks,
    )
    row = await connection.fetchrow(statement, seeds, *(filtered.args if filtered else ()))
    return None if row is None or row[0] is None else _neighbourhood(*row, cuts=cuts)


def _neighbourhood(
    chunks: list[int],
    entities: list[int],
    known: list[int],
    degrees: list[int],
    seeds: list[int],
    *,
    cuts: Cuts,
) -> Neighbourhood:
    chunk_of, entity_of = np.array(chunks, np.int64), np.array(entities, np.int64)
    order = np.lexsort((entity_of, chunk_of))
    chunk_ids, chunk = np.unique(chunk_of[order], return_inverse=True)
    entity_ids, entity = np.unique(entity_of[order], return_inverse=True)
    degree = np.empty(entity_ids.size)
    degree[np.searchsorted(entity_ids, np.array(known, np.int64))] = degrees
    # Counting stops beyond `common`; an entity must not give away more than it has.
    degree = np.maximum(degree, np.bincount(entity, minlength=entity_ids.size))
    graph = MentionGraph(chunk, entity, chunk_ids.size, degree, specificity(degree, cuts.common))
    return Neighbourhood(graph, chunk_ids, entity_ids, frozenset(seeds))
