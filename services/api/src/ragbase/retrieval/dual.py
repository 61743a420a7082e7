"""Two vectors a chunk, its content's and its context's: candidates from both indexes, scored exactly.

The order is by ``w · content + (1 - w) · context``, which no index can give: it is worked out on
the nearest chunks of either index (Fagin, "Combining fuzzy information from multiple systems",
PODS 1996, with lists of fixed length). Those of them that the lists themselves show to be too far
down are not scored (the upper bounds of Fagin, Lotem, Naor: "Optimal aggregation algorithms for
middleware", PODS 2001). ``docs/adr/0034-local-rag.md`` has the recall that this
leaves. A chunk without a context has no second vector: its content's counts for both.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Mapping
from dataclasses import dataclass

from ragbase.models.domain import Vector
from ragbase.retrieval.filters import Condition
from ragbase.retrieval.semantic import SemanticIndex
from ragbase.storage.embedding_models import EmbeddingModel
from ragbase.storage.pool import Connection, Database

__all__ = ["DualHit", "DualIndex", "possible_rows"]

_SCORED = """
SELECT c.content, coalesce(nullif(c.context, ''), c.content), d.external_id,
    d.metadata ->> 'folder_id', s.content_score, s.context_score, s.combined
FROM (
    SELECT v.chunk_id, v.document_id, v.content_score, v.context_score,
        {weight!r}::float8 * v.content_score + {rest!r}::float8 * v.context_score AS combined
    FROM (
        SELECT e.chunk_id, e.document_id, 1 - (e.embedding <=> $1::vector) AS content_score,
            1 - (coalesce(x.embedding, e.embedding) <=> $1::vector) AS context_score
        FROM embeddings e
        LEFT JOIN embeddings x
            ON x.chunk_id = e.chunk_id AND x.model_id = {model:d} AND x.kind = 'context'
        WHERE {among} AND e.model_id = {model:d} AND e.kind = 'content'
        OFFSET 0
    ) v
    WHERE {weight!r}::float8 * v.content_score + {rest!r}::float8 * v.context_score >= $3
    ORDER BY combined DESC, v.chunk_id
    LIMIT {limit:d}
) s
JOIN chunks c ON c.id = s.chunk_id
JOIN documents d ON d.id = s.document_id
ORDER BY s.combined DESC, s.chunk_id
"""
_AMONG_IDS = "e.chunk_id = ANY($2::bigint[])"
_AMONG_ALL = "e.collection_id = ANY($2::bigint[])"


_ROUNDING = 1e-9
"""More than sums in another order may differ by."""


def possible_rows(
    content: Mapping[int, float],
    context: Mapping[int, float],
    *,
    weight: float,
    depth: int,
    limit: int,
    threshold: float,
) -> list[int]:
    """Chunks that may be among the ``limit`` best of at least ``threshold``, by id.

    Both are the nearest chunks by one vector, with their cosines, at most ``depth``. A full list
    bounds the cosines that it does not name by its least one; a chunk that the contexts do not
    name may have no context, and then its content's counts for both.
    """
    rest = 1.0 - weight
    all_contexts = len(context) < depth
    least_content = -1.0 if len(content) < depth else min(content.values())
    least_context = -1.0 if all_contexts else min(context.values())

    bounds: dict[int, float] = {}
    exact: list[float] = []
    for chunk, first in content.items():
        second = context.get(chunk)
        known = second is not None or all_contexts
        if second is None:
            second = max(first, least_context)
        bounds[chunk] = bound = weight * first + rest * second
        if known:
            exact.append(bound)
    for chunk, second in context.items():
        if chunk not in content:
            bounds[chunk] = weight * least_content + rest * second
    best = heapq.nlargest(limit, exact)
    least = max(threshold, best[-1]) if len(best) == limit else threshold
    return sorted(chunk for chunk, bound in bounds.items() if bound >= least - _ROUNDING)


@dataclass(frozen=True, slots=True)
class DualHit:
    """A chunk found, with its scores: cosines in [-1, 1] and their weighted sum."""

    content: str
    context: str
    file_id: str
    folder_id: str | None
    content_score: float
    context_score: float
    combined: float


class DualIndex:
    """Searches the two vectors of one model's chunks. Keep one instance, see `SemanticIndex`.

    ``weight`` is the content's; ``candidates`` are taken from either index.
    """

    def __init__(
        self, model: EmbeddingModel, *, weight: float, candidates: int, ef_search: int
    ) -> None:
        self._model = model
        self._weight = weight
        self._candidates = candidates
        self._arms = (
            SemanticIndex(model.id, model.dimension, ef_search, "content"),
            SemanticIndex(model.id, model.dimension, ef_search, "context"),
        )

    async def search(
        self,
        database: Database,
        vector: Vector,
        collection_id: int,
        *,
        filtered: Condition | None,
        limit: int,
        threshold: float,
    ) -> list[DualHit]:
        """The ``limit`` best chunks of at least ``threshold``, best first, equal ones by id.

        ``vector`` has shape (d,); ``filtered`` is compiled with ``first=3``. Both indexes are
        asked at once, each over a connection of its own.
        """
        depth = max(self._candidates, 2 * limit)

        async def ask(arm: SemanticIndex) -> dict[int, float]:
            async with database.read() as connection:
                hits = await arm.search(
                    connection, vector, [collection_id], filtered=filtered, depth=depth
                )
            return {hit.chunk_id: hit.score for hit in hits}

        content, context = await asyncio.gather(*(ask(arm) for arm in self._arms))
        ids = possible_rows(
            content, context, weight=self._weight, depth=depth, limit=limit, threshold=threshold
        )
        if not ids:
            return []
        async with database.read() as connection:
            return await self._scored(connection, _AMONG_IDS, vector, ids, limit, threshold)

    async def scan(
        self,
        connection: Connection,
        vector: Vector,
        collection_id: int,
        *,
        limit: int,
        threshold: float,
    ) -> list[DualHit]:
        """The same without any index: every chunk scored. What `search` is measured by."""
        ids = [collection_id]
        return await self._scored(connection, _AMONG_ALL, vector, ids, limit, threshold)

    async def _scored(
        self,
        connection: Connection,
        among: str,
        vector: Vector,
        ids: list[int],
        limit: int,
        threshold: float,
    ) -> list[DualHit]:
        statement = _SCORED.format(
            among=among,
            model=self._model.id,
            weight=self._weight,
            rest=1.0 - self._weight,
            limit=limit,
        )
        rows = await connection.fetch(statement, vector, ids, threshold)
        return [DualHit(*row) for row in rows]
