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
from ragbase.storage.chunks import chunks_beside, with_chunks

if TYPE_CHECKING:
    import asyncpg

    from ragbase.models.domain import StoredChunk, Vector
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


@dataclass(frozen=True, slots=True)
class _Asked:
    """One search: what each way to answer it is given."""

    connection: asyncpg.Connection
    vector: Vector
    collections: list[int]
    filtered: Condition | None
    depth: int
    with_chunks: bool

    async def fetch(self, statement: str) -> list[asyncpg.Record]:
        """Rows that begin with chunk_id, distance, and end with the chunk if wanted."""
        if self.with_chunks:
            statement = with_chunks(statement, "h.distance, h.chunk_id")
        args = self.filtered.args if self.filtered else ()
        return await self.connection.fetch(statement, self.vector, self.collections, *args)


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
        chunks: dict[int, StoredChunk] | None = None,
    ) -> list[Hit]:
        """The ``depth`` nearest chunks, nearest first, equal ones by chunk id.

        The score is 1 - cosine distance, in [-1, 1]; rows below ``min_score`` are left out.
        ``vector`` has shape (d,); ``filtered`` is compiled with ``first=3``. ``chunks``, where
        given, are filled with the chunks' rows, read by the same statement.
        """
        if depth < 1 or not collections:
            return []
        asked = _Asked(connection, vector, list(collections), filtered, depth, chunks is not None)
        rows = await self._rows(asked)
        if chunks is not None:
            chunks.update(chunks_beside(rows))
        hits = (Hit(row[0], 1.0 - row[1]) for row in rows)
        return [hit for hit in hits if min_score is None or hit.score >= min_score]

    async def _rows(self, asked: _Asked) -> list[asyncpg.Record]:
        if not self._statements.indexed:
            return await self._exact(asked)
        sizes = await self._known_sizes(asked.connection, asked.collections)
        if sizes.matching <= exact_limit(sizes.total, asked.depth, VISIT_COST, self._ef_search):
            return await self._exact(asked)
        if asked.filtered is not None:
            bound = exact_limit(sizes.total, asked.depth, VISIT_COST_FILTERED, self._ef_search)
            found = await self._exact_within(asked, asked.filtered, bound)
            if found is not None:
                return found
        rows = await self._nearest(asked)
        if len(rows) < asked.depth:
            # More rows match than were asked for, or we had not come here: the index gave up.
            return await self._exact(asked)
        return rows

    async def _exact(self, asked: _Asked) -> list[asyncpg.Record]:
        if asked.filtered is None:
            return await asked.fetch(self._statements.exact(asked.depth))
        found = await self._exact_within(asked, asked.filtered, None)
        assert found is not None
        return found

    async def _exact_within(
        self, asked: _Asked, filtered: Condition, bound: int | None
    ) -> list[asyncpg.Record] | None:
        """None where more than ``bound`` chunks match; they have not been compared then."""
        rows = await asked.fetch(self._statements.exact_filtered(asked.depth, filtered, bound))
        if bound is not None and rows[0]["matching"] > bound:
            return None
        return [row for row in rows if row["chunk_id"] is not None]

    async def _nearest(self, asked: _Asked) -> list[asyncpg.Record]:
        statement = self._statements.nearest(asked.depth, asked.filtered)
        if asked.depth <= self._ef_search:
            return await asked.fetch(statement)
        async with asked.connection.transaction():
            width = min(asked.depth, EF_SEARCH_MAX)
            await asked.connection.execute(f"SET LOCAL hnsw.ef_search = {width:d}")
            return await asked.fetch(statement)

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
