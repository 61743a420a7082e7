"""The two stores of the graph's shape, Postgres and a projection over Bolt, on the same graph.

``python -m bench.graph_stores``. The data of ``bench.graph`` (here 20,000 entities, 2,000 documents, a
hub of 10,000 relations), projected into a Neo4j Community server that Maven fetches. It measures how long
the projection takes to fill, what each reading costs in either store, graph search over HTTP, and
what noting changes costs those who write documents' entities (not the splitting, embedding and
extraction before it). Bars, at the median: graph search ≤ 25 ms over Bolt, ≤ 15 ms over Postgres.
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

from bench.graph import DOCUMENTS, HUB_RELATIONS, fill, question, timed
from bench.report import Bar, state_folder, write_report
from bench.server import start_api
from ragbase.embedded import EmbeddedPostgres
from ragbase.errors import UnavailableError
from ragbase.graph.bolt import BoltGraphStore
from ragbase.graph.bolt_driver import Bolt
from ragbase.graph.bolt_write import BoltWriter
from ragbase.graph.communities import PostgresCommunities
from ragbase.graph.linking import link, words_of
from ragbase.graph.postgres import PostgresGraphStore
from ragbase.graph.store import GraphStore
from ragbase.ingest.facts import clean_facts
from ragbase.models.extraction import ChunkFacts, EntityFact, RelationFact
from ragbase.services.projection import Projector
from ragbase.services.projection_check import find_drift
from ragbase.storage.collections import list_collections
from ragbase.storage.graph_outbox import count_changes, forget_wish, read_epoch, want_changes
from ragbase.storage.graph_write import lock_chunks, write_facts
from ragbase.storage.migrations import migrate
from ragbase.storage.pool import Connection, Database
from services.api.tests.bolt.neo4j_server import Neo4jServer

ENTITIES = 20_000
CALLS = 60
WRITES = 200
START_S = 240.0
READINGS = ("expand_1", "expand_2", "neighbours_1", "neighbours_3", "hub_3", "path")


def main() -> int:
    """Exit code 1 where a bar was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    out: Path | None = parser.parse_args().out
    found = asyncio.run(_run())
    demands = [
        Bar("graph search over Postgres, p50 ms", found["search"]["postgres"]["p50"], 15.0),
        Bar("graph search over Bolt, p50 ms", found["search"]["bolt"]["p50"], 25.0),
    ]
    text = _text(found, demands)
    print(text)
    if out is not None:
        write_report(
            out / "graph-stores", {"machine": platform.processor(), **found}, demands, text
        )
    return 0 if all(bar.met for bar in demands) else 1


async def _run() -> dict[str, Any]:
    draw = random.Random(7)
    neo4j = Neo4jServer(("-Xmx1g", "-XX:+UseSerialGC"))
    with state_folder() as folder, EmbeddedPostgres(folder / "postgres") as server:
        await migrate(server.dsn, dialect="native")
        connection = await asyncpg.connect(server.dsn)
        try:
            names = await fill(connection, draw, ENTITIES)
        finally:
            await connection.close()
        try:
            await asyncio.to_thread(neo4j.start)
            async with await Database.open(server.dsn) as database:
                bolt = Bolt.open(neo4j.url, read_s=60.0, write_s=60.0)
                try:
                    found = await _measure(database, server.dsn, neo4j.url, bolt, names, draw)
                finally:
                    await bolt.close()
        finally:
            neo4j.close()
    return {"entities": ENTITIES, "documents": DOCUMENTS, **found}


async def _measure(
    database: Database,
    dsn: str,
    url: str,
    bolt: Bolt,
    names: Sequence[str],
    draw: random.Random,
) -> dict[str, Any]:
    """Each part's figures are told as soon as they are there."""
    found: dict[str, Any] = {}
    found["projection"] = await _project(database, dsn, BoltWriter(bolt))
    _tell(found["projection"])
    found["search"] = {
        choice: await _over_http(dsn, url, choice, names, draw) for choice in ("postgres", "bolt")
    }
    _tell(found["search"])
    found["readings"] = await _readings(database, bolt, names, draw)
    found["notes"] = await _notes(database, draw)
    _tell(found["notes"])
    return found


async def _project(database: Database, dsn: str, writer: BoltWriter) -> dict[str, float]:
    """Fill an empty store; seconds, things in it, and seconds to compare all of them."""
    _tell("fill")
    started = time.perf_counter()
    projector = Projector(dsn, writer)
    projector.start()
    try:
        while True:
            async with database.read() as connection:
                epoch = await read_epoch(connection)
                waiting = await count_changes(connection)
            if not waiting and epoch is not None and await _marked(writer) == str(epoch):
                break
            await asyncio.sleep(0.2)
    finally:
        await projector.stop()
    filled = time.perf_counter() - started
    _tell("compare")
    async with database.read() as connection:
        drift = await find_drift(connection, writer)
    assert drift.equal, drift.shown[:5]
    compared = time.perf_counter() - started - filled
    return {
        "things": drift.compared,
        "fill_s": round(filled, 1),
        "things_per_s": round(drift.compared / filled),
        "compare_s": round(compared, 1),
    }


def _tell(news: object) -> None:
    print(f"{time.strftime('%H:%M:%S')} {news}", file=sys.stderr, flush=True)


async def _marked(writer: BoltWriter) -> str | None:
    try:
        return (await writer.mark()).epoch
    except UnavailableError:  # a server that has just started, on a machine that is busy
        return None


async def _readings(
    database: Database, bolt: Bolt, names: Sequence[str], draw: random.Random
) -> dict[str, dict[str, Any]]:
    """Each reading in each store, in turns."""
    async with database.read() as connection:
        collections = await list_collections(connection, ["default"])
        seeds = [
            list(
                (await link(connection, [1], words_of(question(draw, names), collections))).seeds()
            )
            for _ in range(CALLS)
        ]
        hub = await connection.fetchval("SELECT max(id) FROM entities")
    seeds = [some for some in seeds if some]
    postgres = PostgresGraphStore(database, PostgresCommunities(database))
    stores: dict[str, GraphStore] = {"postgres": postgres, "bolt": BoltGraphStore(bolt)}
    around = [await postgres.expand(some, 1) for some in seeds]
    pairs = [tuple(draw.choices(some, k=2)) for some in around if len(some) > 1]
    calls: dict[str, tuple[Sequence[Any], Callable[[GraphStore, Any], Awaitable[Any]]]] = {
        "expand_1": (seeds, lambda store, some: store.expand(some, 1)),
        "expand_2": (seeds, lambda store, some: store.expand(some, 2)),
        "neighbours_1": (seeds, lambda s, some: s.neighbours("entity", some[0], 1, [1], 100)),
        "neighbours_3": (seeds, lambda s, some: s.neighbours("entity", some[0], 3, [1], 1000)),
        "hub_3": ([hub] * 10, lambda store, one: store.expand([one], 3)),
        "path": (pairs[:50], lambda s, pair: s.path("entity", pair[0], pair[1], [1], 6)),
    }
    found: dict[str, dict[str, Any]] = {}
    for name, (arguments, ask) in calls.items():
        answers = [await ask(stores["postgres"], one) for one in arguments[:20]]
        assert answers == [await ask(stores["bolt"], one) for one in arguments[:20]], name
        found[name] = {
            kind: await timed(arguments, lambda one, store=store, ask=ask: ask(store, one))
            for kind, store in stores.items()
        }
        _tell({name: found[name]})
    return found


async def _over_http(
    dsn: str, url: str, choice: str, names: Sequence[str], draw: random.Random
) -> dict[str, float]:
    _tell(f"graph search, {choice}")
    settings = {
        "DATABASE_URL": dsn,
        "RAGBASE_WORKERS": "0",
        "MEMGRAPH_URL": url,
        "RAGBASE_GRAPH_STORE": choice,
        "RAGBASE_GRAPH_STORE_TIMEOUT": "30",
        "RAGBASE_GRAPH_TIMEOUT": "60",
    }
    api, address = await asyncio.to_thread(start_api, settings, 0, START_S)
    try:
        async with httpx.AsyncClient(base_url=address, timeout=60) as client:

            async def ask(query: str) -> None:
                answer = await client.post("/v1/search/graph", json={"query": query})
                answer.raise_for_status()
                assert "warnings" not in answer.json(), answer.json()["warnings"]

            return await timed([question(draw, names) for _ in range(CALLS)], ask)
    finally:
        api.terminate()
        await asyncio.to_thread(api.wait)


async def _notes(database: Database, draw: random.Random) -> dict[str, float]:
    """Milliseconds of writing what a document says of entities, with and without notes, in turns:
    blocks of 20, so that both meet the same state of the tables."""
    times: dict[bool, list[float]] = {False: [], True: []}
    for block in range(2 * WRITES // 20):
        noted = block % 2 == 1
        async with database.transaction() as connection:
            await (want_changes(connection) if noted else forget_wish(connection))
        for _ in range(20):
            times[noted].append(await _write(database, draw))
    async with database.transaction() as connection:
        rows = await count_changes(connection)
        await forget_wish(connection)
        await connection.execute("DELETE FROM graph_changes")
    without, with_notes = (_fastest_half(times[noted]) for noted in (False, True))
    return {
        "without_ms": round(without, 3),
        "with_ms": round(with_notes, 3),
        "slower_percent": round(100 * (with_notes / without - 1), 1),
        "notes_a_document": round(rows / WRITES, 1),
    }


def _fastest_half(times: list[float]) -> float:
    """Mean of it: what others do on the machine is in the other half."""
    half = sorted(times)[: len(times) // 2]
    return sum(half) / len(half)


async def _write(database: Database, draw: random.Random) -> float:
    async with database.transaction() as connection:
        document = await connection.fetchval(
            "INSERT INTO documents (title, content, collection_id) VALUES ('x', 'x', 1) RETURNING id"
        )
        await connection.execute(
            "INSERT INTO chunks (document_id, collection_id, chunk_index, content, indexed_content) "
            "SELECT $1, 1, n, 'x', 'x' FROM generate_series(0, 3) n",
            document,
        )
        return await _write_facts(connection, document, draw)


async def _write_facts(connection: Connection, document: int, draw: random.Random) -> float:
    locked = await lock_chunks(connection, document)
    assert locked is not None
    facts = []
    for chunk in locked[1]:
        named = [f"Written {int(2_000 ** draw.random())}" for _ in range(8)]
        relations = [RelationFact(a, b, "", "") for a, b in itertools.pairwise(named)]
        facts.append(clean_facts(ChunkFacts(chunk, [EntityFact(n) for n in named], relations)))
    started = time.perf_counter()
    await write_facts(connection, document, 1, facts, "bench")
    return (time.perf_counter() - started) * 1000


def _text(found: dict[str, Any], demands: Sequence[Bar]) -> str:
    projection = found["projection"]
    lines = [
        f"# Two graph stores: {found['entities']:,} entities, a hub of {HUB_RELATIONS:,} relations",
        "",
        f"Filled in {projection['fill_s']} s ({projection['things']:,} nodes and relations, "
        f"{projection['things_per_s']:,} a second), compared row by row in "
        f"{projection['compare_s']} s.",
        "",
        "| p50 (p95) ms | Postgres | Bolt |",
        "|---|---|---|",
    ]
    for name, by_store in [*found["readings"].items(), ("graph search", found["search"])]:
        cells = (
            f"{by_store[kind]['p50']} ({by_store[kind]['p95']})" for kind in ("postgres", "bolt")
        )
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    notes = found["notes"]
    lines += [
        "",
        f"Writing a document's entities: {notes['without_ms']} ms without notes, {notes['with_ms']} ms "
        f"with ({notes['notes_a_document']} notes a document).",
        "",
        "| bar | limit | found | |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {bar.name} | {bar.limit} | {bar.value} | {'met' if bar.met else 'MISSED'} |"
        for bar in demands
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
