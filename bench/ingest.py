"""Ingest through the API against the bare embedder on the same texts and cores.

Method. Documents of the English evaluation sets (Markdown pages and abstracts, in turns) are sent to
an API that runs as a process of its own over an embedded, durable Postgres: as JSON lines in one
request, as JSON arrays of 100, and by single POSTs, one or eight at a time. The bare embedder is the
same model with the same settings in this process, on exactly the texts that the server embedded
(`indexed_content` of all chunks, in one call). Each round runs every way once, in a fixed order, each
into a new collection; the median of chunks a second is compared, and the first round is dropped.

    lines ≥ 0.75 × bare embedder

Usage: python -m bench.ingest [--documents 400] [--rounds 3] [--out bench/results]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any

import httpx

from bench.corpus import ENGLISH, evaldata, read_jsonl
from bench.report import Bar, state_folder, write_report
from bench.server import start_api
from ragbase.clients.embedder import Embedder
from ragbase.clients.select import open_embedder
from ragbase.embedded import EmbeddedPostgres
from ragbase.settings import Settings
from ragbase.storage.migrations import migrate
from ragbase.storage.pool import Database

Documents = list[dict[str, str]]
Way = Callable[[httpx.AsyncClient, Documents], Awaitable[None]]

LEAST_SHARE = 0.75
ARRAY = 100


def read_documents(folder: Path, count: int) -> Documents:
    """Documents of all sets in turns."""
    sets = [read_jsonl(folder / name / "corpus.jsonl") for name in ENGLISH]
    turns = chain.from_iterable(zip_longest(*sets))
    kept: Iterator[dict[str, str]] = (row for row in turns if row and row["text"].strip())
    return [
        {"title": row.get("title") or row["_id"], "content": row["text"]}
        for row in islice(kept, count)
    ]


def in_collection(documents: Documents, name: str) -> Documents:
    """The same documents for another collection."""
    return [{**document, "collection": name} for document in documents]


async def as_lines(client: httpx.AsyncClient, documents: Documents) -> None:
    """One request of JSON lines."""

    async def lines() -> AsyncIterator[bytes]:
        for document in documents:
            yield json.dumps(document).encode() + b"\n"

    headers = {"content-type": "application/x-ndjson"}
    answer = await client.post("/v1/documents/batch", content=lines(), headers=headers)
    check([json.loads(line) for line in answer.text.splitlines()], len(documents))


async def as_arrays(client: httpx.AsyncClient, documents: Documents) -> None:
    """Arrays, one request after the other."""
    for start in range(0, len(documents), ARRAY):
        part = documents[start : start + ARRAY]
        answer = await client.post("/v1/documents/batch", json=part)
        check(answer.json()["results"], len(part))


def singly(callers: int) -> Way:
    """Single POSTs by so many callers."""

    async def send(client: httpx.AsyncClient, documents: Documents) -> None:
        waiting = iter(documents)

        async def work() -> None:
            for document in waiting:
                answer = await client.post("/v1/documents", json=document)
                answer.raise_for_status()

        await asyncio.gather(*(work() for _ in range(callers)))

    return send


def check(results: list[dict[str, Any]], count: int) -> None:
    """Every document must have been made."""
    statuses = [result["status"] for result in results]
    if statuses != [201] * count:
        raise RuntimeError(f"{len(statuses)} results for {count} documents: {set(statuses)}")


WAYS: dict[str, Way] = {
    "lines": as_lines,
    f"arrays of {ARRAY}": as_arrays,
    "one POST at a time": singly(1),
    "eight POSTs at a time": singly(8),
}


async def measure(
    dsn: str, url: str, embedder: Embedder, documents: Documents, rounds: int
) -> tuple[int, dict[str, list[float]]]:
    """Number of chunks, and chunks a second by way."""
    speeds: dict[str, list[float]] = defaultdict(list)
    texts: list[str] = []
    async with (
        httpx.AsyncClient(base_url=url, timeout=600) as client,
        await Database.open(dsn, min_size=1) as database,
    ):
        for number in range(rounds + 1):
            for name, way in WAYS.items():
                collection = f"r{number}-{len(speeds[name])}-{abs(hash(name)) % 10_000}"
                (await client.put(f"/v1/collections/{collection}", json={})).raise_for_status()
                ready = in_collection(documents, collection)
                started = time.perf_counter()
                await way(client, ready)
                took = time.perf_counter() - started
                texts = texts or await stored_texts(database)
                if number:
                    speeds[name].append(len(texts) / took)
                await client.delete(f"/v1/collections/{collection}")
            started = time.perf_counter()
            await embedder.embed_passages(texts)
            if number:
                speeds["bare embedder"].append(len(texts) / (time.perf_counter() - started))
    return len(texts), speeds


async def stored_texts(database: Database) -> list[str]:
    """What was embedded."""
    async with database.read() as connection:
        rows = await connection.fetch("SELECT indexed_content FROM chunks ORDER BY id")
    return [row[0] for row in rows]


async def bench(documents: Documents, rounds: int) -> tuple[int, dict[str, float]]:
    """Start, measure, stop; the number of chunks and the median chunks a second by way."""
    embedder = await open_embedder(Settings())
    with state_folder() as place, EmbeddedPostgres(place / "pg") as server:
        await migrate(server.dsn, dialect="native")
        process, url = start_api({"DATABASE_URL": server.dsn})
        try:
            chunks, speeds = await measure(server.dsn, url, embedder, documents, rounds)
        finally:
            process.terminate()
            process.wait(30)
    await embedder.aclose()
    return chunks, {name: statistics.median(values) for name, values in speeds.items()}


def as_markdown(count: int, chunks: int, speeds: dict[str, float]) -> str:
    """The report as a table."""
    bare = speeds["bare embedder"]
    lines = [
        f"### Ingest of {count:,} documents, {chunks:,} chunks",
        "",
        "| way | chunks/s | of the bare embedder |",
        "|---|---|---|",
    ]
    rows = [f"| {name} | {speed:.1f} | {speed / bare:.2f} |" for name, speed in speeds.items()]
    return "\n".join([*lines, *rows])


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    folder = evaldata()
    if folder is None:
        print("No evaluation data: set RAGBASE_EVALDATA.", file=sys.stderr)
        return 2
    documents = read_documents(folder, arguments.documents)
    chunks, speeds = asyncio.run(bench(documents, arguments.rounds))
    text = as_markdown(len(documents), chunks, speeds)
    print(text)
    share = speeds["lines"] / speeds["bare embedder"]
    bar = Bar("lines as a share of the bare embedder", share, LEAST_SHARE, at_least=True)
    if arguments.out:
        report = {"documents": len(documents), "chunks": chunks, "chunks_per_second": speeds}
        write_report(arguments.out / "ingest", report, [bar], text)
    return 0 if bar.met else 1


if __name__ == "__main__":
    sys.exit(main())
