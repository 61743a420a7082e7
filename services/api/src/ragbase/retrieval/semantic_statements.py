"""SQL of the semantic arm: nearest vectors by cosine, by index or exactly.

Parameters of each statement: $1 the query vector, $2 collection ids bigint[], then those of the
filter (compiled with ``first=3``). Model id, dimension and numbers of rows are written as
literals, because the partial expression index is only matched by constants. Rows are chunk_id
and cosine distance, nearest first, equal distances by chunk id.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragbase.storage.embedding_models import VectorKind, index_type

if TYPE_CHECKING:
    from ragbase.retrieval.filters import Condition

__all__ = ["VectorStatements"]

_COLUMNS = "e.chunk_id, e.embedding <=> $1::vector AS distance"

_NEAREST = """
SELECT n.chunk_id, n.distance
FROM (
    SELECT {columns}
    FROM embeddings e {joined}
    WHERE e.model_id = {model:d} AND e.kind = '{vectors}'
        AND e.collection_id = ANY($2::bigint[]){condition}
    ORDER BY (e.embedding::{kind}) <=> $1::{kind}
    LIMIT {depth:d}
) n
ORDER BY n.distance, n.chunk_id
"""

# The bare column, not the index's expression: this order cannot be read off the index.
_EXACT = """
SELECT {columns}
FROM embeddings e
WHERE e.model_id = {model:d} AND e.kind = '{vectors}' AND e.collection_id = ANY($2::bigint[])
ORDER BY distance, e.chunk_id
LIMIT {depth:d}
"""

_EXACT_FILTERED = """
WITH allowed AS MATERIALIZED (
    SELECT c.id
    FROM chunks c
    WHERE c.collection_id = ANY($2::bigint[]) AND ({condition})
    {bound}
)
SELECT h.chunk_id, h.distance, m.matching
FROM (SELECT count(*) AS matching FROM allowed) m
LEFT JOIN LATERAL (
    SELECT v.chunk_id, v.distance
    FROM allowed a
    CROSS JOIN LATERAL (
        SELECT {columns}
        FROM embeddings e
        WHERE e.chunk_id = a.id AND e.model_id = {model:d} AND e.kind = '{vectors}'
        OFFSET 0
    ) v
    WHERE {within}
    ORDER BY v.distance, v.chunk_id
    LIMIT {depth:d}
) h ON true
ORDER BY h.distance, h.chunk_id
"""

_SIZES = """
WITH total AS MATERIALIZED (
    SELECT CASE
        WHEN c.relpages > 0 AND c.reltuples >= 0 THEN
            c.reltuples::float8 / c.relpages
                * (pg_relation_size(c.oid) / current_setting('block_size')::int)
        ELSE (SELECT count(*) FROM embeddings)
    END AS rows
    FROM pg_class c
    WHERE c.oid = 'embeddings'::regclass
)
SELECT
    t.rows AS total,
    (
        SELECT count(*)
        FROM (
            SELECT
            FROM embeddings e
            WHERE e.model_id = {model:d} AND e.collection_id = ANY($1::bigint[]){only}
            LIMIT ceil(sqrt({most:d} * t.rows))::bigint + 1
        ) m
    ) AS matching
FROM total t
"""


@dataclass(frozen=True, slots=True)
class VectorStatements:
    """Statements for the vectors of one model and kind."""

    model_id: int
    dimension: int
    vectors: VectorKind = "content"

    @property
    def indexed(self) -> bool:
        """Whether the dimension can have an HNSW index."""
        return index_type(self.dimension) is not None

    def nearest(self, depth: int, filtered: Condition | None) -> str:
        """By the HNSW index: fast, may miss some and, with a filter, return fewer than there are."""
        return _NEAREST.format(
            columns=_COLUMNS,
            model=self.model_id,
            vectors=self.vectors,
            kind=index_type(self.dimension),
            depth=depth,
            joined="JOIN chunks c ON c.id = e.chunk_id" if filtered else "",
            condition=f" AND ({filtered.sql})" if filtered else "",
        )

    def exact(self, depth: int) -> str:
        """Every vector of the collections compared."""
        return _EXACT.format(
            columns=_COLUMNS, model=self.model_id, vectors=self.vectors, depth=depth
        )

    def exact_filtered(self, depth: int, filtered: Condition, bound: int | None) -> str:
        """Every vector of a matching chunk compared, unless more than ``bound`` chunks match.

        A third column, ``matching``, counts these up to ``bound + 1``. At least one row comes
        back, its ``chunk_id`` NULL where nothing was found or compared.
        """
        return _EXACT_FILTERED.format(
            columns=_COLUMNS,
            model=self.model_id,
            vectors=self.vectors,
            depth=depth,
            condition=filtered.sql,
            bound="" if bound is None else f"LIMIT {bound + 1:d}",
            within="true" if bound is None else f"m.matching <= {bound:d}",
        )

    def sizes(self, most: int) -> str:
        """Estimated rows of the table, and rows of the collections in $1 up to sqrt(most · rows)."""
        # Vectors of contexts are few, and have an index of their own.
        only = " AND e.kind = 'context'" if self.vectors == "context" else ""
        return _SIZES.format(model=self.model_id, most=most, only=only)
