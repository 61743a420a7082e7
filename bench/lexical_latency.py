"""Latency of the native dialect beside other ways to answer the same queries, interleaved."""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import bm25s
import numpy as np

from ragbase.retrieval.filters import Condition
from ragbase.retrieval.lexical.native import NativeDialect
from ragbase.retrieval.lexical.native_statement import native_statement
from ragbase.storage.pool import Connection

__all__ = ["Times", "make_baselines", "measure", "memory_index"]

NATIVE = NativeDialect()
Times = dict[str, list[float]]
Step = Callable[[Sequence[str]], Awaitable[Any]]

GIN = """
SELECT id, ts_rank_cd(tsv, q) AS score
FROM gin_chunks, to_tsquery('simple', $1) q
WHERE tsv @@ q ORDER BY score DESC, id LIMIT 10
"""
COUNT = """
SELECT count(*)
FROM unnest($1::text[]) t
CROSS JOIN unnest($2::bigint[]) c
CROSS JOIN LATERAL (
    SELECT FROM postings p WHERE p.term_key = hashtextextended(t, c) OFFSET 0
) p
"""
PINNED_JOIN = "        OFFSET 0\n"


async def make_baselines(connection: Connection) -> None:
    """A tsvector of the same terms under GIN: how full text is usually searched in Postgres."""
    await connection.execute(
        "CREATE TABLE gin_chunks AS "
        "SELECT id, to_tsvector('simple', lexical_text) AS tsv FROM chunks ORDER BY id"
    )
    await connection.execute("CREATE INDEX ON gin_chunks USING gin (tsv)")
    await connection.execute("VACUUM ANALYZE gin_chunks")


async def memory_index(connection: Connection) -> bm25s.BM25:
    """bm25s over the same terms, in this process."""
    rows = await connection.fetch("SELECT lexical_text FROM chunks ORDER BY id")
    index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    index.index([row[0].split() for row in rows], show_progress=False)
    return index


def steps(
    connection: Connection,
    index: bm25s.BM25,
    collections: Sequence[int],
    *,
    small: int,
    middle: int,
) -> dict[str, Step]:
    """Ways to answer a query of terms, by name; ``small`` and ``middle`` are collections of about
    1 % and 15 %.
    """
    everything = list(collections)
    hundredth = Condition("c.id % 100 = $3", [7])

    async def native(query: Sequence[str]) -> Any:
        return await NATIVE.search(connection, query, everything, depth=10)

    async def deep(query: Sequence[str]) -> Any:
        return await NATIVE.search(connection, query, everything, depth=200)

    async def one_percent(query: Sequence[str]) -> Any:
        return await NATIVE.search(connection, query, [small], depth=10)

    async def fifteen_percent(query: Sequence[str]) -> Any:
        return await NATIVE.search(connection, query, [middle], depth=10)

    async def filtered(query: Sequence[str]) -> Any:
        return await NATIVE.search(connection, query, everything, filtered=hundredth, depth=10)

    async def count(query: Sequence[str]) -> Any:
        return await connection.fetchval(COUNT, list(query), everything)

    async def gin(query: Sequence[str]) -> Any:
        quoted = ("'" + term.replace("\\", "\\\\").replace("'", "''") + "'" for term in query)
        return await connection.fetch(GIN, " | ".join(quoted))

    async def memory(query: Sequence[str]) -> Any:
        known = [term for term in query if term in index.vocab_dict]
        return index.retrieve([known], k=10, show_progress=False) if known else None

    return {
        "native": native,
        "native, 200 deep": deep,
        "count(*)": count,
        "collection of 1 %": one_percent,
        "collection of 15 %": fifteen_percent,
        "filter of 1 %": filtered,
        "ts_rank_cd, GIN": gin,
        "bm25s in memory": memory,
    }


async def unpinned(
    connection: Connection, queries: Sequence[Sequence[str]], collections: Sequence[int]
) -> list[float]:
    """Milliseconds of the same statement with the planner free to choose the join."""
    free = native_statement(filtered=None, depth=10).replace(PINNED_JOIN, "")
    assert "OFFSET 0" not in free
    times = []
    for query in queries:
        started = time.perf_counter()
        await connection.fetch(free, list(query), list(collections))
        times.append((time.perf_counter() - started) * 1000)
    return times


async def measure(
    ways: dict[str, Step], queries: Sequence[Sequence[str]], rounds: int, *, slow_rounds: int = 1
) -> Times:
    """Milliseconds by way, after one warming round; slow ways run in ``slow_rounds`` only."""
    times: Times = defaultdict(list)
    for number in range(rounds + 1):
        for query in queries:
            for name, way in ways.items():
                if name == "ts_rank_cd, GIN" and number > slow_rounds:
                    continue
                started = time.perf_counter()
                await way(query)
                if number:
                    times[name].append((time.perf_counter() - started) * 1000)
    return times


def summary(times: Times) -> dict[str, dict[str, float]]:
    """p50 and p95 by way."""
    return {
        name: {"p50": statistics.median(values), "p95": float(np.percentile(values, 95))}
        for name, values in times.items()
    }
