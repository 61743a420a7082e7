"""The native dialect's search: exact BM25 in one SQL statement over ``postings``.

Score of a chunk = sum over query terms t of

    qtf(t) · (k1 + 1) · idf(t) · tf / (tf + k1 · (1 - b + b · dl / avgdl))
    idf(t) = ln(1 + (N - df + 0.5) / (df + 0.5)) = ln((N + 1) / (df + 0.5))

with Lucene's idf, k1 = 1.2, b = 0.75 (Robertson, Zaragoza: The Probabilistic Relevance Framework,
2009; Kamphuis et al.: Which BM25 Do You Mean?, ECIR 2020). N, avgdl and df are those of the
searched collections together, counted in the statement's own snapshot.

The plan is pinned, because a planner that misjudges the numbers joins by hashing the whole of
``postings`` (21 to 130 times slower at 100,000 chunks in an earlier form of the statement): ``OFFSET 0``
keeps the lateral sub-selects index look-ups, and a filter is an uncorrelated IN over an unnested array, wrapped in IS TRUE, which can only become
a hashed sub-plan, whatever the planner thinks of the number of rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragbase.retrieval.filters import Condition

__all__ = ["native_statement"]

_FILTERED = """
allowed AS MATERIALIZED (
    SELECT array_agg(c.id) AS ids
    FROM chunks c
    WHERE c.collection_id = ANY($2::bigint[]) AND ({condition})
),"""

_ALLOWED = "AND (p.chunk_id IN (SELECT unnest(a.ids) FROM allowed a)) IS TRUE"

_SEARCH = """
WITH{filtered}
totals AS MATERIALIZED (
    SELECT
        sum(s.chunks)::float8 AS n,
        1.2::float8 * 0.25::float8 AS k_base,
        1.2::float8 * 0.75::float8 * sum(s.chunks)::float8
            / nullif(sum(s.tokens), 0)::float8 AS k_length
    FROM lexical_statistics s
    WHERE s.collection_id = ANY($2::bigint[])
),
found AS MATERIALIZED (
    SELECT t.term, t.qtf, hashtextextended(t.term, o.collection_id) AS term_key, d.df
    FROM (SELECT u.term, count(*)::float8 AS qtf FROM unnest($1::text[]) u (term) GROUP BY 1) t
    CROSS JOIN (SELECT DISTINCT unnest($2::bigint[]) AS collection_id) o
    CROSS JOIN LATERAL (
        SELECT count(*)::float8 AS df
        FROM postings p
        WHERE p.term_key = hashtextextended(t.term, o.collection_id)
    ) d
),
-- By term, so that equal chunks sum in equal order and tie exactly.
weighted AS MATERIALIZED (
    SELECT
        f.term_key,
        s.k_base,
        s.k_length,
        2.2::float8 * f.qtf * ln((s.n + 1::float8) / (f.total + 0.5::float8)) AS weight
    FROM totals s
    CROSS JOIN (SELECT *, sum(df) OVER (PARTITION BY term) AS total FROM found) f
    WHERE f.df > 0::float8
    ORDER BY f.term
),
ranked AS MATERIALIZED (
    SELECT
        h.chunk_id,
        sum(w.weight / (1::float8 + (w.k_base + w.k_length * h.dl) / h.tf)) AS score
    FROM weighted w
    CROSS JOIN LATERAL (
        SELECT p.chunk_id, p.tf, p.dl
        FROM postings p
        WHERE p.term_key = w.term_key {allowed}
        OFFSET 0
    ) h
    GROUP BY h.chunk_id
    ORDER BY score DESC, h.chunk_id
    LIMIT {depth:d}
)
SELECT r.chunk_id, r.score
FROM ranked r
ORDER BY r.score DESC, r.chunk_id
"""


def native_statement(*, filtered: Condition | None, depth: int) -> str:
    """The search statement for `LexicalDialect.statement`; ``depth`` ≥ 1 is written as a literal."""
    if filtered is None:
        return _SEARCH.format(filtered="", allowed="", depth=depth)
    return _SEARCH.format(
        filtered=_FILTERED.format(condition=filtered.sql), allowed=_ALLOWED, depth=depth
    )
