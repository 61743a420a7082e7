"""The semantic arm's index: chunks whose vectors are nearest to the query's, by cosine.

HNSW (pgvector) looks through neighbours of the query until it has enough rows; a filter, or a
collection that is a small part of the table, makes it look through many more, and it gives up at
some point. Comparing every matching vector costs the same wherever they lie and misses nothing.
The cheaper of the two is taken; what the index leaves incomplete is done again exactly.
``docs/adr/0008-semantic-arm.md`` has the measurements.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragbase.limits import ARM_DEPTH_MAX
from ragbase.models.domain import Hit
from ragbase.retrieval.semantic_statements import VectorStatements

if TYPE_CHECKING:
    import asyncpg

    from ragbase.models.domain import Vector
    from ragbase.retrieval.filters import Condition
    from ragbase.storage.embedding_models import VectorKind

__all__ = ["SemanticIndex", "exact_limit"]

VISIT_COST = 20
"""An element that HNSW visits costs as much as so many rows of an exact scan of collections."""
VISIT_COST_FILTERED = 5
"""The same for rows of a filtered exact scan, each of which is looked up by chunk id."""
EF_SEARCH_MAX = 1000
"""pgvector's limit."""
SIZES_KEPT_S = 30.0
SIZES_KEPT_MAX = 1024


def exact_limit(total: int, depth: int, visit_cost: int, ef_search: int = 0) -> int:
    """Most matching rows for which an exact scan is the cheaper way.

    Among ``total`` rows of which m match, HNSW visits about depth · total / m elements to find
    ``depth`` matching ones, and never fewer than its search width ``ef_search``; the exact scan
    compares m rows. They break even at m² = visit_cost · depth · total, or m = visit_cost · width.
    """
    return max(math.isqrt(visit_cost * depth * total), visit_cost * ef_search)


@dataclass(frozen=True, slots=True)
class _Sizes:
    total: int
    matching: int
    """Rows of the collections, counted up to the largest `exact_limit`."""
    until: float


class SemanticIndex:
    """Searches the vectors of one model. Keep one instance: it remembers sizes of collections.

    ``ef_search`` is the search width that the connections have by themselves; their
    ``hnsw.iterative_scan`` should be on. ``vectors``: those of chunks, or of their contexts.
    """

    def __init__(
        self, model_id: int, dimension: int, ef_search: int, vectors: VectorKind = "content"
    ) -> None:
        self._statements = VectorStatements(model_id, dimension, vectors)
        self._ef_search = ef_search
        self._sizes: dict[tuple[int, ...], _Sizes] = {}

    async def search(
        self,
        connection: asyncpg.Connection,
        vector: Vector,
        collections: Sequence[int],
        *,
        filtered: Condition | None = None,
        depth: int,
        min_score: float | None = None,
    ) -> list[Hit]:
        """The ``depth`` nearest chunks, nearest first, equal ones by chunk id.

        The score is 1 - cosine distance, in [-1, 1]; rows below ``min_score`` are left out.
        ``vector`` has shape (d,); ``filtered`` is compiled with ``first=3``.
        """
        if depth < 1 or not collections:
            return []
        rows = await self._rows(connection, vector, collections, filtered, depth)
        hits = (Hit(row[0], row[1], 1.0 - row[2]) for row in rows)
        return [hit for hit in hits if min_score is None or hit.score >= min_score]

    async def _rows(
        self,
        connection: asyncpg.Connection,
        vector: Vector,
        collections: Sequence[int],
        filtered: Condition | None,
        depth: int,
    ) -> list[asyncpg.Record]:
        if not self._statements.indexed:
            return await self._exact(connection, vector, collections, filtered, depth)
        sizes = await self._known_sizes(connection, collections)
        if sizes.matching <= exact_limit(sizes.total, depth, VISIT_COST, self._ef_search):
            return await self._exact(connection, vector, collections, filtered, depth)
        if filtered is not None:
            bound = exact_limit(sizes.total, depth, VISIT_COST_FILTERED, self._ef_search)
            found = await self._exact_within(
                connection, vector, collections, filtered, depth, bound
            )
            if found is not None:
                return found
        rows = await self._nearest(connection, vector, collections, filtered, depth)
        if len(rows) < depth:
            # More rows match than were asked for, or we had not come here: the index gave up.
            return await self._exact(connection, vector, collections, filtered, depth)
        return rows

    async def _exact(
        self,
        connection: asyncpg.Connection,
        vector: Vector,
        collections: Sequence[int],
        filtered: Condition | None,
        depth: int,
    ) -> list[asyncpg.Record]:
        if filtered is None:
            return await connection.fetch(self._statements.exact(depth), vector, list(collections))
        found = await self._exact_within(connection, vector, collections, filtered, depth, None)
        assert found is not None
        return found

    async def _exact_within(
        self,
        connection: asyncpg.Connection,
        vector: Vector,
        collections: Sequence[int],
        filtered: Condition,
        depth: int,
        bound: int | None,
    ) -> list[asyncpg.Record] | None:
        """None where more than ``bound`` chunks match; they have not been compared then."""
        rows = await connection.fetch(
            self._statements.exact_filtered(depth, filtered, bound),
            vector,
            list(collections),
            *filtered.args,
        )
        if bound is not None and rows[0]["matching"] > bound:
            return None
        return [row for row in rows if row["chunk_id"] is not None]

    async def _nearest(
        self,
        connection: asyncpg.Connection,
        vector: Vector,
        collections: Sequence[int],
        filtered: Condition | None,
        depth: int,
    ) -> list[asyncpg.Record]:
        statement = self._statements.nearest(depth, filtered)
        args = (vector, list(collections), *(filtered.args if filtered else ()))
        if depth <= self._ef_search:
            return await connection.fetch(statement, *args)
        async with connection.transaction():
            width = min(depth, EF_SEARCH_MAX)
            await connection.execute(f"SET LOCAL hnsw.ef_search = {width:d}")
            return await connection.fetch(statement, *args)

    async def _known_sizes(
        self, connection: asyncpg.Connection, collections: Sequence[int]
    ) -> _Sizes:
        """Counted at most every `SIZES_KEPT_S`; being late costs time, never rows."""
        key = tuple(sorted(set(collections)))
        known = self._sizes.get(key)
        if known is not None and known.until > time.monotonic():
            return known
        row = await connection.fetchrow(
            self._statements.sizes(VISIT_COST * ARM_DEPTH_MAX), list(key)
        )
        assert row is not None
        sizes = _Sizes(int(row["total"]), row["matching"], time.monotonic() + SIZES_KEPT_S)
        if len(self._sizes) >= SIZES_KEPT_MAX:
            self._sizes.clear()
        self._sizes[key] = sizes
        return sizes
