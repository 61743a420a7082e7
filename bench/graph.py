"""The entity graph: linking over many entities, the walk around hubs, graph search over HTTP.

``python -m bench.graph``. Data is made up: names of two to four invented words, documents that name
six of them, some names far more often than others (Zipf). ``link_fuzzy`` has one name misspelt, so
it is searched for by likeness. Bars: linking over 100,000 entities
≤ 5 ms, graph search over 2,000 documents ≤ 15 ms, a neighbourhood of depth 3 around a hub of 10,000
relations ≤ 100 ms, each at the median.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import platform
import random
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import asyncpg
import httpx

from bench.report import Bar, state_folder, write_report
from bench.server import start_api
from ragbase.embedded import EmbeddedPostgres
from ragbase.evaluation.latency import Latency
from ragbase.graph.communities import PostgresCommunities
from ragbase.graph.linking import link, words_of
from ragbase.graph.neighbourhood import load_neighbourhood
from ragbase.graph.pagerank import chunk_scores
from ragbase.graph.postgres import PostgresGraphStore
from ragbase.models.domain import Collection
from ragbase.storage.collections import list_collections
from ragbase.storage.migrations import migrate
from ragbase.storage.pool import Connection, Database
from ragbase.text.entity_names import normalise

ENTITIES = 100_000
DOCUMENTS = 2_000
NAMES_A_DOCUMENT = 6
HUB_RELATIONS = 10_000
CALLS = 300
WARM = 30
SYLLABLES = [
    a + b for a in "bcdfghjklmnprstvwz" for b in ("a", "e", "i", "o", "u", "an", "er", "on")
]
TIMED = ("link", "link_fuzzy", "walk", "hub_depth_3", "graph_search", "floor")


def main() -> int:
    """Exit code 1 where a bar was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    found = asyncio.run(_run())
    demands = [
        Bar("linking over 100,000 entities, p50 ms", found["link"]["p50"], 5.0),
        Bar("graph search over 2,000 documents, p50 ms", found["graph_search"]["p50"], 15.0),
        Bar("depth 3 around a hub of 10,000, p50 ms", found["hub_depth_3"]["p50"], 100.0),
    ]
    text = _text(found, demands)
    print(text)
    out: Path | None = parser.parse_args().out
    if out is not None:
        write_report(out / "graph", {"machine": platform.processor(), **found}, demands, text)
    return 0 if all(bar.met for bar in demands) else 1


async def _run() -> dict[str, Any]:
    draw = random.Random(7)
    with state_folder() as folder, EmbeddedPostgres(folder / "postgres") as server:
        await migrate(server.dsn, dialect="native")
        connection = await asyncpg.connect(server.dsn)
        try:
            names = await fill(connection, draw)
        finally:
            await connection.close()
        async with await Database.open(server.dsn) as database, database.acquire() as held:
            measured = await _in_process(database, held, names, draw)
        return {**measured, **await _over_http(server.dsn, names, draw)}


async def fill(connection: Connection, draw: random.Random, entities: int = ENTITIES) -> list[str]:
    """Entities, documents that name them, and one hub; the names, most frequent first."""
    names = _names(draw, entities)
    await connection.execute("SET session_replication_role = replica")
    await connection.copy_records_to_table(
        "entities",
        records=[(1, normalise(name), name) for name in names],
        columns=["collection_id", "normal_name", "name"],
    )
    ids = [row[0] for row in await connection.fetch("SELECT id FROM entities ORDER BY id")]
    rows = await connection.fetch(
        """
        WITH d AS (
            INSERT INTO documents (title, content, collection_id)
            SELECT 'Document ' || n, 'x', 1 FROM generate_series(1, $1::int) n RETURNING id
        )
        INSERT INTO chunks (document_id, collection_id, chunk_index, content, indexed_content)
        SELECT id, 1, 0, 'Some text of a chunk.', 'x' FROM d RETURNING id, document_id
        """,
        DOCUMENTS,
    )
    mentions, pairs = set(), set()
    for chunk, document in rows:
        # Of the first 8,000 names, each by its rank: few are everywhere, most are rare.
        named = {ids[int(8_000 ** draw.random()) - 1] for _ in range(NAMES_A_DOCUMENT)}
        mentions |= {(chunk, entity, document, 1) for entity in named}
        pairs |= set(itertools.combinations(sorted(named), 2))
    hub = ids[-1]
    pairs |= {(entity, hub) for entity in ids[:HUB_RELATIONS]}
    await connection.copy_records_to_table(
        "mentions",
        records=sorted(mentions),
        columns=["chunk_id", "entity_id", "document_id", "collection_id"],
    )
    await connection.copy_records_to_table(
        "relations",
        records=[(1, *pair) for pair in sorted(pairs)],
        columns=["collection_id", "source_id", "target_id"],
    )
    await connection.execute("VACUUM (ANALYZE)")
    return names


def _names(draw: random.Random, entities: int) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < entities:
        words = [
            "".join(draw.choices(SYLLABLES, k=draw.randint(2, 4))).capitalize()
            for _ in range(draw.randint(2, 4))
        ]
        found[" ".join(words)] = None
    return list(found)


async def _in_process(
    database: Database, connection: Connection, names: Sequence[str], draw: random.Random
) -> dict[str, Any]:
    collections = await list_collections(connection, ["default"])
    exact = [question(draw, names) for _ in range(CALLS)]
    misspelt = [question(draw, names, spoil=True) for _ in range(CALLS)]
    walks = await _seeds(connection, collections, exact)

    async def walk(seeds: dict[int, float]) -> None:
        around = await load_neighbourhood(connection, list(seeds))
        if around is not None:
            chunk_scores(around.graph, around.restart(seeds))

    async def find(query: str) -> None:
        await link(connection, [1], words_of(query, collections))

    hub = await connection.fetchval(
        "SELECT id FROM entities WHERE collection_id = 1 AND normal_name = $1", normalise(names[-1])
    )
    store = PostgresGraphStore(database, PostgresCommunities(database))
    return {
        "entities": ENTITIES,
        "documents": DOCUMENTS,
        "link": await timed(exact, find),
        "link_fuzzy": await timed(misspelt, find),
        "walk": await timed(walks, walk),
        "hub_depth_3": await timed([hub] * 50, lambda one: store.expand([one], 3)),
    }


def question(draw: random.Random, names: Sequence[str], *, spoil: bool = False) -> str:
    """A query that names two entities; with ``spoil`` the first is misspelt."""
    first, second = draw.choices(names[:8_000], k=2)
    if spoil:
        at = draw.randrange(1, len(first) - 1)
        first = f"{first[:at]}x{first[at + 1 :]}"
    return f"When did the founder of {first} first work together with somebody of {second}?"


async def _seeds(
    connection: Connection, collections: Sequence[Collection], queries: Sequence[str]
) -> list[dict[int, float]]:
    return [
        (await link(connection, [1], words_of(query, collections))).seeds() for query in queries
    ]


async def _over_http(dsn: str, names: Sequence[str], draw: random.Random) -> dict[str, Any]:
    api, url = await asyncio.to_thread(start_api, {"DATABASE_URL": dsn, "RAGBASE_WORKERS": "0"})
    try:
        async with httpx.AsyncClient(base_url=url) as client:

            async def ask(query: str) -> None:
                answer = await client.post("/v1/search/graph", json={"query": query})
                answer.raise_for_status()

            async def floor(_: str) -> None:
                (await client.get("/health/live")).raise_for_status()

            queries = [question(draw, names) for _ in range(CALLS)]
            return {
                "graph_search": await timed(queries, ask),
                "floor": await timed(queries, floor),
            }
    finally:
        api.terminate()
        await asyncio.to_thread(api.wait)


async def timed(
    arguments: Sequence[Any], call: Callable[[Any], Awaitable[Any]]
) -> dict[str, float]:
    """Percentiles in milliseconds of ``call`` with each argument, some of them beforehand."""
    times = []
    for argument in [*arguments[:WARM], *arguments]:
        started = time.perf_counter()
        await call(argument)
        times.append((time.perf_counter() - started) * 1000)
    latency = Latency.of(times[min(WARM, len(arguments)) :])
    return {name: round(getattr(latency, name), 3) for name in ("p50", "p95", "p99")}


def _text(found: dict[str, Any], demands: Sequence[Bar]) -> str:
    lines = [
        f"# The entity graph: {found['entities']:,} entities, {found['documents']:,} documents",
        "",
        "| ms | p50 | p95 | p99 |",
        "|---|---|---|---|",
    ]
    lines += [f"| {name} | " + " | ".join(map(str, found[name].values())) + " |" for name in TIMED]
    lines += ["", "| bar | limit | found | |", "|---|---|---|---|"]
    lines += [
        f"| {bar.name} | {bar.limit} | {bar.value} | {'met' if bar.met else 'MISSED'} |"
        for bar in demands
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
