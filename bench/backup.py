"""Backup, wipe, restore: the same answers to every judged query, and what it costs.

Method. Cranfield (or ``--set``) is ingested through the API on an embedded Postgres with the default
model. Every judged query is asked in all three modes with ``explain``; then ``ragbase backup`` runs as
a process of its own, the state folder is deleted, ``ragbase restore`` makes a new one, and the same
queries are asked again of an API on that. Answers are compared byte for byte but for the times that
they took. With ``--chunks`` a database of resampled chunks (`bench.corpus`) is backed up and restored
too: size and seconds only.

Bytes are `pg_total_relation_size` of each table of the judged set before the backup: rows, indexes, and long
texts that are kept apart.

Usage: python -m bench.backup [--set cranfield] [--chunks 10000 100000] [--out bench/results]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import asyncpg
import httpx

from bench.corpus import needed_evaldata
from bench.latency import SETTINGS, fill
from bench.report import Bar, state_folder, write_report
from ragbase.clients.embedder import Embedder
from ragbase.clients.select import open_embedder
from ragbase.embedded import EmbeddedPostgres
from ragbase.evaluation.dataset import Dataset, load_dataset
from ragbase.main import create_app
from ragbase.settings import Settings
from ragbase.storage.migrations import migrate
from ragbase.telemetry.logs import configure_logging

ROUTES = ("/v1/search", "/v1/search/keyword", "/v1/search/semantic")
PARALLEL = 4


def run_ragbase(*command: str) -> dict[str, Any]:
    """What ``ragbase <command> --json`` says, with its seconds from start to end."""
    environment = {key: value for key, value in os.environ.items() if key != "DATABASE_URL"}
    started = time.monotonic()
    said = subprocess.run(
        [sys.executable, "-m", "ragbase", *command, "--json"],
        env=environment,
        stdout=subprocess.PIPE,
        check=True,
    ).stdout
    report: dict[str, Any] = json.loads(said)
    return {**report, "process_seconds": time.monotonic() - started}


async def with_api(dsn: str, embedder: Embedder, work: Any) -> Any:
    """The result of ``work(client)`` with an API on ``dsn`` in this process."""
    # Extraction's jobs go on after ingest, and would change the graph between answers and backup.
    settings = Settings(DATABASE_URL=dsn, RAGBASE_AUTH="off", RAGBASE_EXTRACTION="off")  # type: ignore[call-arg]
    app = create_app(settings, embedder=embedder)
    transport = httpx.ASGITransport(app=app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=300) as client,
    ):
        return await work(client)


async def ingest(client: httpx.AsyncClient, dataset: Dataset) -> None:
    """Post every document, a few at a time."""
    permits = asyncio.Semaphore(PARALLEL)

    async def post(document: Any) -> None:
        body = {"title": document.title, "content": document.text, "external_id": document.id}
        async with permits:
            (await client.post("/v1/documents", json=body)).raise_for_status()

    await asyncio.gather(*(post(document) for document in dataset.documents))


async def answers(client: httpx.AsyncClient, dataset: Dataset) -> list[str]:
    """Each answer as canonical JSON without its times, in the order of queries and routes."""
    found = []
    for query in dataset.queries:
        for route in ROUTES:
            body = {"query": query.text, "top_k": 50, "explain": True}
            answer = await client.post(route, json=body)
            answer.raise_for_status()
            values = answer.json()
            values.pop("timings_ms")
            found.append(json.dumps(values, sort_keys=True, ensure_ascii=False))
    return found


async def judged(folder: Path, state: Path, embedder: Embedder) -> dict[str, Any]:
    """Ingest, ask, back up, wipe, restore, ask again."""
    dataset, shelf, home = load_dataset(folder), state / "backups", state / "home"

    async def ingest_and_ask(client: httpx.AsyncClient) -> list[str]:
        await ingest(client, dataset)
        return await answers(client, dataset)

    with EmbeddedPostgres(home / "postgres") as server:
        await migrate(server.dsn, dialect="native")
        before = await with_api(server.dsn, embedder, ingest_and_ask)
        disk = await bytes_a_chunk(server.dsn)
    taken = await asyncio.to_thread(run_ragbase, "backup", str(shelf), "--home", str(home))
    shutil.rmtree(home)
    given = await asyncio.to_thread(run_ragbase, "restore", str(shelf), "--home", str(home))
    with EmbeddedPostgres(home / "postgres") as server:
        after = await with_api(server.dsn, embedder, lambda client: answers(client, dataset))
    shutil.rmtree(home)
    return {
        "set": folder.name,
        "queries": len(dataset.queries),
        "answers": len(before),
        "identical": sum(one == other for one, other in zip(before, after, strict=True)),
        "disk": disk,
        **figures(taken, given),
    }


async def bytes_a_chunk(dsn: str) -> dict[str, float]:
    """Size of each of our large tables, divided by the chunks; and words a chunk."""
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute("VACUUM ANALYZE")
        row = await connection.fetchrow("SELECT count(*), avg(token_count) FROM chunks")
        assert row is not None
        sizes = {
            table: await connection.fetchval(f"SELECT pg_total_relation_size('{table}')")
            for table in ("documents", "chunks", "embeddings", "postings")
        }
    finally:
        await connection.close()
    return {table: size / row[0] for table, size in sizes.items()} | {"words": float(row[1])}


async def resampled(chunks: int, folder: Path, state: Path, embedder: Embedder) -> dict[str, Any]:
    """Size and seconds of a larger database."""
    home, shelf = state / "home", state / f"backups-{chunks}"
    with EmbeddedPostgres(home / "postgres", settings=SETTINGS) as server:
        await fill(server.dsn, chunks, embedder, folder)
    taken = await asyncio.to_thread(run_ragbase, "backup", str(shelf), "--home", str(home))
    shutil.rmtree(home)
    given = await asyncio.to_thread(run_ragbase, "restore", str(shelf), "--home", str(home))
    shutil.rmtree(home)
    shutil.rmtree(shelf)
    return figures(taken, given)


def figures(taken: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """What counts of both commands' reports."""
    return {
        "chunks": taken["chunks"],
        "bytes": taken["bytes"],
        "bytes a chunk": taken["bytes"] / taken["chunks"],
        "backup seconds": taken["seconds"],
        "restore seconds": given["seconds"],
        "checksums compared": given["checksums_compared"],
        "healed": given["healed"],
    }


async def bench(folder: Path, name: str, sizes: list[int]) -> dict[str, Any]:
    """Both parts."""
    embedder = await open_embedder(Settings())
    try:
        with state_folder() as state:
            report = {"judged": await judged(folder / name, state, embedder), "resampled": []}
            for chunks in sizes:
                report["resampled"].append(await resampled(chunks, folder, state, embedder))
    finally:
        await embedder.aclose()
    return {"load": os.getloadavg(), **report}


def as_text(report: dict[str, Any]) -> str:
    """The report for people."""
    found = report["judged"]
    lines = [
        "# Backup, wipe, restore",
        "",
        f"{found['set']}: {found['identical']} of {found['answers']} answers to {found['queries']} "
        "queries in three modes are the same, byte for byte, after a wipe and a restore.",
        "",
        "| chunks | size | bytes a chunk | backup | restore, checked |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {row['chunks']:,} | {row['bytes'] / 1e6:.1f} MB | {row['bytes a chunk']:,.0f} "
        f"| {row['backup seconds']:.1f} s | {row['restore seconds']:.1f} s |"
        for row in [found, *report["resampled"]]
    ]
    disk = found["disk"]
    words = disk["words"]
    tables = ", ".join(f"{name} {size:,.0f}" for name, size in disk.items() if name != "words")
    lines += ["", f"Bytes a chunk of {words:.0f} words on disk, indexes included: {tables}."]
    load = ", ".join(f"{each:.1f}" for each in report["load"])
    return "\n".join([*lines, "", f"Load of the machine at the end: {load}."])


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--set", default="cranfield")
    parser.add_argument("--chunks", type=int, nargs="*", default=[])
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    configure_logging("warning", "console")
    folder = needed_evaldata()
    report = asyncio.run(bench(folder, arguments.set, arguments.chunks))
    found = report["judged"]
    bars = [
        Bar("answers identical", found["identical"], found["answers"], at_least=True),
        Bar("keyword index healed after the restore", len(found["healed"]), 0),
    ]
    print(as_text(report))
    if arguments.out is not None:
        write_report(arguments.out / "backup", report, bars, as_text(report))
    return 0 if all(bar.met for bar in bars) else 1


if __name__ == "__main__":
    sys.exit(main())
