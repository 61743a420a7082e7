"""Keyword search of the native dialect: exact, and how fast beside other ways, in one run.

Method. An embedded Postgres is filled with resampled chunks (`bench.corpus`) in five collections
(half of all, a third, 15 %, 1 %, and Cranfield's documents for a while). Exactness is against a
float64 numpy reference. Latencies are interleaved: each query is asked in every way before the
next; figures are medians after a warming round. "Long" queries are real questions of 5 to 20
terms, "short" ones two or three terms of these. Ratios within a run are what counts; the absolute
figures are this machine's.

Usage: python -m bench.lexical --chunks 10000 [--rounds 3] [--out bench/results]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import statistics
import sys
from pathlib import Path
from typing import Any

from bench.corpus import (
    ENGLISH,
    Corpus,
    clustered,
    load,
    needed_evaldata,
    read_jsonl,
    read_sources,
    sample,
)
from bench.lexical_exactness import cranfield_exactness, exact_share, random_churn
from bench.lexical_latency import make_baselines, measure, memory_index, steps, summary, unpinned
from bench.lexical_writes import write_rates
from bench.report import Bar, state_folder, write_report
from ragbase.embedded import EmbeddedPostgres
from ragbase.retrieval.lexical.native import NativeDialect
from ragbase.storage.migrations import migrate
from ragbase.storage.pool import Connection, Database
from ragbase.text.analyse import analyser

SETTINGS = {"shared_buffers": "2GB", "work_mem": "16MB", "max_wal_size": "4GB"}
SHARES = {"half": 0.50, "third": 0.34, "middle": 0.15, "small": 0.01}
NATIVE = NativeDialect()


def read_queries(folder: Path, count: int) -> tuple[list[list[str]], list[list[str]]]:
    """Terms of long and of short queries, ``count`` of each."""
    terms = analyser("english").query_terms
    texts = [row["text"] for name in ENGLISH for row in read_jsonl(folder / name / "queries.jsonl")]
    chance = random.Random(3)
    chance.shuffle(texts)
    long = [query for text in texts if 5 <= len(query := terms(text)) <= 20]
    return long[:count], [chance.sample(query, chance.choice((2, 3))) for query in long[:count]]


async def fill(db: Database, corpus: Corpus) -> dict[str, int]:
    """Load the corpus; ids of the collections by name."""
    async with db.acquire() as connection:
        await connection.execute("SET statement_timeout = 0")
        ids = {
            name: await connection.fetchval(
                "INSERT INTO collections (name) VALUES ($1) RETURNING id", name
            )
            for name in SHARES
        }
        model = await connection.fetchval(
            "INSERT INTO embedding_models (name, dimension) VALUES ('bench', 8) RETURNING id"
        )
        await load(connection, corpus, list(ids.values()), model_id=model)
        await NATIVE.rebuild(connection)
        await connection.execute("VACUUM ANALYZE")
    return ids


async def sizes(connection: Connection) -> dict[str, float]:
    """Bytes of the postings a chunk, and for 120 words."""
    row = await connection.fetchrow(
        "SELECT pg_table_size('postings') + pg_indexes_size('postings'), count(*), "
        "avg(token_count) FROM chunks"
    )
    assert row is not None
    size, chunks, words = float(row[0]), int(row[1]), float(row[2])
    return {
        "a chunk": size / chunks,
        "words a chunk": words,
        "120 words": size / chunks / words * 120,
    }


async def bench(chunks: int, rounds: int, folder: Path) -> dict[str, Any]:
    """All measurements at one size."""
    corpus = sample(
        read_sources(folder), chunks, shares=list(SHARES.values()), base_vectors=clustered(1000, 8)
    )
    long, short = read_queries(folder, 25 if chunks > 50_000 else 45)
    with (
        state_folder() as state,
        EmbeddedPostgres(state / "postgres", settings=SETTINGS) as server,
    ):
        await migrate(server.dsn, dialect="native")
        async with await Database.open(
            server.dsn, statement_timeout_s=3600, write_timeout_s=3600
        ) as db:
            report = await _measured(db, corpus, long, short, rounds, folder)
    return {"chunks": chunks, "load": os.getloadavg(), **report}


async def _measured(
    db: Database,
    corpus: Corpus,
    long: list[list[str]],
    short: list[list[str]],
    rounds: int,
    folder: Path,
) -> dict[str, Any]:
    report: dict[str, Any] = {}
    async with db.acquire() as connection:
        report["cranfield"] = await cranfield_exactness(connection, folder)
    ids = await fill(db, corpus)
    everything = list(ids.values())
    async with db.acquire() as connection:
        await connection.execute("SET statement_timeout = 0")
        report["size"] = {"rebuilt": await sizes(connection)}
        await make_baselines(connection)
        index = await memory_index(connection)
        ways = steps(connection, index, everything, small=ids["small"], middle=ids["middle"])
        for label, queries in (("long", long), ("short", short)):
            report[label] = summary(await measure(ways, queries, rounds))
            free = await unpinned(connection, queries[:4], everything)
            report[label]["unpinned join"] = {"p50": statistics.median(free), "p95": max(free)}
        await random_churn(connection, everything)
        report["exact"] = {
            label: await exact_share(connection, long, chosen)
            for label, chosen in (("all", everything), ("one", [ids["middle"]]))
        }
    report["writes"] = await write_rates(db, corpus.lexical[: min(len(corpus.lexical), 6_000)])
    if len(corpus.texts) <= 20_000:  # a chunk's share does not change beyond
        async with db.acquire() as connection:
            await connection.execute("SET statement_timeout = 0")
            report["size"]["by triggers"] = await _trigger_size(connection)
    return report


async def _trigger_size(connection: Connection) -> dict[str, float]:
    """Size after the same chunks came in by inserts of 20 instead of a rebuild."""
    await connection.execute("TRUNCATE postings, lexical_statistics")
    await connection.execute("CREATE TABLE kept AS SELECT * FROM chunks ORDER BY id")
    await connection.execute("CREATE INDEX ON kept (id)")
    await connection.execute("DELETE FROM chunks")
    await connection.execute("VACUUM chunks, postings")
    first, last = await connection.fetchrow("SELECT min(id), max(id) FROM kept")  # type: ignore[misc]
    for start in range(first, last + 1, 20):
        await connection.execute(
            "INSERT INTO chunks SELECT * FROM kept WHERE id >= $1 AND id < $2", start, start + 20
        )
    await connection.execute("DROP TABLE kept")
    await connection.execute("VACUUM ANALYZE postings")
    return await sizes(connection)


def bars(report: dict[str, Any]) -> list[Bar]:
    """The demands at this size."""
    long, short, writes = report["long"], report["short"], report["writes"]

    def ratio(part: dict[str, Any], one: str, other: str) -> float:
        value: float = part[one]["p50"] / part[other]["p50"]
        return value

    exact = [value for name, value in report["cranfield"].items() if name.startswith("exact")]
    found = [
        Bar("exact: share of queries, least", min(*exact, *report["exact"].values()), 1.0, True),
        Bar("nDCG@10 of Cranfield", report["cranfield"]["ndcg@10"], 0.52, True),
        Bar("long: ts_rank_cd / native", ratio(long, "ts_rank_cd, GIN", "native"), 10, True),
        Bar("long: native / count(*)", ratio(long, "native", "count(*)"), 10),
        Bar("long: native / bm25s", ratio(long, "native", "bm25s in memory"), 30),
        Bar("long: 15 % collection / all", ratio(long, "collection of 15 %", "native"), 1 / 3),
        Bar(
            "ingest: GIN rate / postings rate",
            writes["GIN, 1 writer"] / writes["postings, 1 writer"],
            5,
        ),
        Bar(
            "6 writers / 1 writer",
            writes["postings, 6 writers"] / writes["postings, 1 writer"],
            1.2,
            True,
        ),
        Bar(
            "delete / ingest, a chunk",
            writes["delete, ms a 1,000"] * writes["postings, 1 writer"] / 1e6,
            1,
        ),
        *(
            Bar(f"bytes for 120 words, {how}", size["120 words"], 10_000)
            for how, size in report["size"].items()
        ),
    ]
    found += [
        Bar("short: ts_rank_cd / native", ratio(short, "ts_rank_cd, GIN", "native"), 4, True),
        Bar("long: 1 % collection / all", ratio(long, "collection of 1 %", "native"), 0.1),
    ]
    if report["chunks"] >= 100_000:
        found.append(
            Bar("long: unpinned / native", ratio(long, "unpinned join", "native"), 10, True)
        )
    return found


def as_markdown(report: dict[str, Any], demands: list[Bar]) -> str:
    """The report as tables."""
    lines = [f"### Keyword search, {report['chunks']:,} chunks (load {report['load'][0]:.1f})", ""]
    lines += ["| way | long p50 | p95 | short p50 | p95 |", "|---|---|---|---|---|"]
    for name, row in report["long"].items():
        other = report["short"][name]
        lines.append(
            f"| {name} | {row['p50']:.2f} | {row['p95']:.2f} | {other['p50']:.2f} | {other['p95']:.2f} |"
        )
    lines += ["", "Milliseconds. Writes in rows a second:", ""]
    lines += [f"- {name}: {value:,.0f}" for name, value in report["writes"].items()]
    lines += ["", "| demand | measured | limit | |", "|---|---|---|---|"]
    for bar in demands:
        sign = "≥" if bar.at_least else "≤"
        lines.append(
            f"| {bar.name} | {bar.value:.3g} | {sign} {bar.limit:.3g} | {'met' if bar.met else 'MISSED'} |"
        )
    return "\n".join(lines)


def main() -> int:
    """Run, print Markdown, write JSON; 1 where a demand is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--chunks", type=int, nargs="+", default=[10_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    folder = needed_evaldata()
    missed = False
    for chunks in arguments.chunks:
        report = asyncio.run(bench(chunks, arguments.rounds, folder))
        demands = bars(report)
        missed = missed or not all(bar.met for bar in demands)
        text = as_markdown(report, demands)
        print(text, flush=True)
        if arguments.out:
            write_report(arguments.out / f"lexical-{chunks}", report, demands, text)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
