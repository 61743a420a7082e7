"""What the API adds to its stages: HTTP latency against floors measured in the same run.

Method. An embedded Postgres is filled with resampled chunks (`bench.corpus`), the API is started
as a process of its own, and one keep-alive client asks. Each round runs every step over all queries,
in a fixed order: (1) ``GET /health/live`` with that same client, (2) the keyword arm's bare SQL and
(3) the semantic arm's bare SQL, each a prepared statement on one connection, at the depth that the
API uses, (4) the bare embedding, in this process, with the same model and settings, and (5) each
route with ``rerank: false, include_graph: false``. Figures are medians over queries × rounds.

    keyword  ≤ SQL + floor + 2 ms
    semantic ≤ SQL + embedding + floor + 2 ms
    hybrid   ≤ embedding + slower arm's SQL + floor + 3 ms

A step that is repeated alone finds all it needs in the processor's caches, and a machine whose speed
drifts gives each step another speed. So a second pass takes each query by itself: the floor, the
stages as a search runs them, bare and in this process (for semantic the embedding and then its SQL,
for hybrid the same beside the keyword arm's SQL), and the route, one right after another. The last
two columns are the medians of that floor, and of what the route took beyond floor and stages.

Usage: python -m bench.latency --chunks 10000 [--rounds 5] [--out bench/results]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from bench.corpus import ENGLISH, load, needed_evaldata, read_jsonl, read_sources, sample
from bench.report import state_folder
from bench.server import rss_mb, start_api
from ragbase.clients.embedder import Embedder
from ragbase.clients.select import open_embedder
from ragbase.embedded import EmbeddedPostgres
from ragbase.limits import ARM_DEPTH_DEFAULT
from ragbase.retrieval.lexical import open_dialect
from ragbase.retrieval.semantic import SemanticIndex
from ragbase.settings import Settings
from ragbase.storage.embedding_models import ensure_model
from ragbase.storage.migrations import migrate
from ragbase.storage.pool import Connection, Database
from ragbase.text.analyse import analyser

SETTINGS = {"shared_buffers": "1GB", "work_mem": "64MB", "maintenance_work_mem": "1GB"}
ROUTES = {
    "hybrid": "/v1/search",
    "semantic": "/v1/search/semantic",
    "keyword": "/v1/search/keyword",
}
TOP_K = 20
"""Default rows; single-arm routes ask their arm for no more, hybrid asks for the default depth."""
ALLOWED_MS = {"hybrid": 3.0, "semantic": 2.0, "keyword": 2.0}

Step = Callable[[], Awaitable[Any]]
Times = dict[str, list[float]]


def read_queries(folder: Path, count: int) -> list[str]:
    """Real questions of the English sets, spread evenly."""
    texts = [row["text"] for name in ENGLISH for row in read_jsonl(folder / name / "queries.jsonl")]
    step = max(1, len(texts) // count)
    return texts[::step][:count]


async def fill(dsn: str, chunks: int, embedder: Embedder, folder: Path) -> None:
    """Migrate, load, build both indexes, vacuum."""
    await migrate(dsn, dialect="native")
    sources = read_sources(folder)
    base = await embedder.embed_passages([source.text for source in sources[:4000]])
    corpus = sample(sources, chunks, shares=[1.0], base_vectors=base)
    info = await embedder.info()
    async with (
        await Database.open(dsn, write_timeout_s=3600) as database,
        database.acquire() as connection,
    ):
        await connection.execute("SET statement_timeout = 0")
        row = await connection.fetchrow(
            "INSERT INTO embedding_models (name, dimension) VALUES ($1, $2) RETURNING id",
            info.model,
            info.dimension,
        )
        assert row is not None
        await load(connection, corpus, [1], model_id=row["id"])
        dialect = await open_dialect(connection, "native")
        await dialect.rebuild(connection)
        await ensure_model(connection, info.model, info.dimension)
        await connection.execute("VACUUM ANALYZE")


def fetch(client: HTTPConnection, method: str, path: str, body: str | None = None) -> None:
    """One request on the kept connection. Plain http.client: the client's own time stays small."""
    client.request(method, path, body, {"content-type": "application/json"})
    answer = client.getresponse()
    content = answer.read()
    if answer.status != 200:
        raise RuntimeError(f"{path}: {answer.status} {content[:200]!r}")


async def steps_for(
    query: str,
    client: HTTPConnection,
    keyword: Connection,
    semantic: Connection,
    embedder: Embedder,
) -> tuple[dict[str, Step], dict[str, Step]]:
    """The things to time for one query, by name; and each mode's stages, as a search runs them."""
    dialect = await open_dialect(keyword, "native")
    info = await embedder.info()
    index = SemanticIndex(1, info.dimension, Settings().ef_search)
    vector, _ = await embedder.embed_query(query)
    terms = analyser("english").query_terms(query)

    body = json.dumps({"query": query, "rerank": False, "include_graph": False})

    async def ask(path: str) -> None:
        fetch(client, "POST", path, body)

    async def live() -> None:
        fetch(client, "GET", "/health/live")

    def lexical(depth: int) -> Step:
        return lambda: dialect.search(keyword, terms, [1], depth=depth)

    def nearest(depth: int) -> Step:
        return lambda: index.search(semantic, vector, [1], depth=depth, min_score=0.0)

    async def semantic_stages(depth: int = TOP_K) -> None:
        fresh, _ = await embedder.embed_query(query)
        await index.search(semantic, fresh, [1], depth=depth, min_score=0.0)

    async def hybrid_stages() -> None:
        await asyncio.gather(
            semantic_stages(ARM_DEPTH_DEFAULT),
            dialect.search(keyword, terms, [1], depth=ARM_DEPTH_DEFAULT),
        )

    steps: dict[str, Step] = {
        "floor": live,
        "keyword_sql": lexical(TOP_K),
        "semantic_sql": nearest(TOP_K),
        "keyword_sql_deep": lexical(ARM_DEPTH_DEFAULT),
        "semantic_sql_deep": nearest(ARM_DEPTH_DEFAULT),
        "embedding": lambda: embedder.embed_query(query),
    }
    for mode, path in ROUTES.items():
        steps[mode] = lambda path=path: ask(path)  # type: ignore[misc]
    stages = {"hybrid": hybrid_stages, "semantic": semantic_stages, "keyword": lexical(TOP_K)}
    return steps, stages


async def measure(
    dsn: str, url: str, queries: list[str], rounds: int, embedder: Embedder
) -> tuple[Times, Times]:
    """Milliseconds by name, each step alone and in turn; first rounds warm up and are dropped."""
    address = urlsplit(url)
    client = HTTPConnection(address.hostname or "", address.port, timeout=60)
    async with (
        await Database.open(dsn, min_size=2, ef_search=Settings().ef_search) as database,
        database.acquire() as keyword,
        database.acquire() as semantic,
    ):
        plans = [await steps_for(q, client, keyword, semantic, embedder) for q in queries]
        alone = await alone_times(client, [steps for steps, _ in plans], rounds)
        in_turn = await in_turn_times(client, plans, rounds)
    client.close()
    return alone, in_turn


async def timed(step: Step) -> float:
    """Milliseconds of one step."""
    started = time.perf_counter()
    await step()
    return (time.perf_counter() - started) * 1000


async def alone_times(client: HTTPConnection, plans: list[dict[str, Step]], rounds: int) -> Times:
    """Each step over all queries before the next one."""
    times: Times = defaultdict(list)
    for number in range(rounds + 1):
        for name in plans[0]:
            client.close()  # the server drops a connection that was idle during a long step
            await plans[0]["floor"]()
            for steps in plans:
                spent = await timed(steps[name])
                if number:
                    times[name].append(spent)
    return times


async def in_turn_times(
    client: HTTPConnection, plans: list[tuple[dict[str, Step], dict[str, Step]]], rounds: int
) -> Times:
    """Floor, stages and route of each query right after one another; ``MODE``: what it adds."""
    times: Times = defaultdict(list)
    for number in range(rounds + 1):
        for mode in ROUTES:
            client.close()
            await plans[0][0]["floor"]()
            for steps, stages in plans:
                bare = await timed(stages[mode])
                floor = await timed(steps["floor"])
                route = await timed(steps[mode])
                if number:
                    times["floor"].append(floor)
                    times[mode].append(route - bare - floor)
    return times


def judge(alone: Times, in_turn: Times) -> dict[str, dict[str, float]]:
    """p50, p95 of every step, and each mode's margin over its floors."""
    p50 = {name: statistics.median(values) for name, values in alone.items()}
    floors = {
        "keyword": p50["keyword_sql"] + p50["floor"],
        "semantic": p50["semantic_sql"] + p50["embedding"] + p50["floor"],
        "hybrid": p50["embedding"] + max(p50["keyword_sql"], p50["semantic_sql"]) + p50["floor"],
    }
    report: dict[str, dict[str, float]] = {}
    for name, values in alone.items():
        row = {"p50": p50[name], "p95": float(np.percentile(values, 95))}
        if name in floors:
            row["floors"] = floors[name]
            row["added"] = p50[name] - floors[name]
            row["allowed"] = ALLOWED_MS[name]
            row["floor_in_turn"] = statistics.median(in_turn["floor"])
            row["added_in_turn"] = statistics.median(in_turn[name])
        report[name] = row
    return report


def as_markdown(chunks: int, report: dict[str, dict[str, float]]) -> str:
    """The report as a table."""
    lines = [
        f"### {chunks:,} chunks (ms)",
        "",
        "| step | p50 | p95 | sum of floors | added | allowed | | floor in turn | added in turn | |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, row in report.items():
        cells = f"| {name} | {row['p50']:.2f} | {row['p95']:.2f} |"
        if "added" in row:
            cells += (
                f" {row['floors']:.2f} | {row['added']:+.2f} | {row['allowed']:.0f} |"
                f" {verdict(row, 'added')} | {row['floor_in_turn']:.2f} |"
                f" {row['added_in_turn']:+.2f} | {verdict(row, 'added_in_turn')} |"
            )
        else:
            cells += " | | | | | | |"
        lines.append(cells)
    return "\n".join(lines)


def verdict(row: dict[str, float], added: str) -> str:
    """Whether a mode keeps what it is allowed."""
    return "met" if row[added] <= row["allowed"] else "MISSED"


async def bench(
    chunks: int, rounds: int, queries: int, folder: Path, state: Path | None
) -> dict[str, Any]:
    """One size: fill (unless ``state`` holds it already), start, measure, stop."""
    embedder = await open_embedder(Settings())
    filled = state is not None and (state / f"pg{chunks}").exists()
    with (
        nullcontext(state) if state else state_folder() as place,
        EmbeddedPostgres(place / f"pg{chunks}", settings=SETTINGS) as server,
    ):
        if filled:
            await migrate(server.dsn, dialect="native")
        else:
            await fill(server.dsn, chunks, embedder, folder)
        process, url = start_api({"DATABASE_URL": server.dsn})
        try:
            texts = read_queries(folder, queries)
            alone, in_turn = await measure(server.dsn, url, texts, rounds, embedder)
            memory = rss_mb(process.pid)
        finally:
            process.terminate()
            process.wait(30)
    await embedder.aclose()
    return {"chunks": chunks, "rss_mb": memory, "steps": judge(alone, in_turn)}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--chunks", type=int, nargs="+", default=[10_000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--queries", type=int, default=60)
    parser.add_argument("--state", type=Path, help="keep the filled databases here for next time")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    folder = needed_evaldata()
    results = []
    for chunks in arguments.chunks:
        result = asyncio.run(
            bench(chunks, arguments.rounds, arguments.queries, folder, arguments.state)
        )
        print(as_markdown(chunks, result["steps"]))
        print(f"\nAPI resident memory: {result['rss_mb']:.0f} MB\n", flush=True)
        results.append(result)
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)
        (arguments.out / "latency.json").write_text(json.dumps(results, indent=1) + "\n")
    missed = [
        r for r in results for s in r["steps"].values() if s.get("added", 0) > s.get("allowed", 0)
    ]
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
