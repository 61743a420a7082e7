"""Ingest through the API against the bare embedder on the same texts and cores.

Method. Documents of the English evaluation sets (Markdown pages and abstracts, in turns) are sent to
an API that runs as a process of its own over an embedded, durable Postgres: as JSON lines in one
request, as JSON arrays of 100, and by single POSTs, one or eight at a time. The bare embedder is the
same model with the same settings in this process, on exactly the texts that the server embedded
(`indexed_content` of all chunks, in one call). Each round runs every way once, in a fixed order, each
into a new collection; medians are compared, and the first round is dropped. CPU time is that of API,
Postgres and client together: on a machine that others use too it says more than the clock.

    lines ≥ 0.75 × bare embedder, in chunks a second

Names in documents are found by jobs of their own, which go on after the answer and take the same
cores from the next round. They are off here, unless ``--extraction auto`` asks what both cost.

Usage: python -m bench.ingest [--documents 400] [--rounds 3] [--extraction off] [--out bench/results]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any

import httpx

from bench.corpus import ENGLISH, needed_evaldata, read_jsonl
from bench.report import Bar, state_folder, write_report
from bench.server import cpu_seconds, start_api
from ragbase.clients.embedder import Embedder
from ragbase.clients.select import open_embedder
from ragbase.embedded import EmbeddedPostgres
from ragbase.settings import Settings
from ragbase.storage.migrations import migrate
from ragbase.storage.pool import Database

Documents = list[dict[str, str]]
Way = Callable[[httpx.AsyncClient, Documents], Awaitable[None]]

BARE = "bare embedder"
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


@dataclass(frozen=True, slots=True)
class Spent:
    """What one way took for all documents, in seconds."""

    clock: float
    cpu: float


@dataclass(frozen=True, slots=True)
class Meter:
    """Takes the time of this process and of the others that work for it."""

    pids: Sequence[int]

    async def of(self, work: Awaitable[object]) -> Spent:
        """Await ``work``."""
        clock, cpu = time.perf_counter(), self._cpu()
        await work
        return Spent(time.perf_counter() - clock, self._cpu() - cpu)

    def _cpu(self) -> float:
        return time.process_time() + sum(cpu_seconds(pid) for pid in self.pids)


async def measure(
    database: Database,
    client: httpx.AsyncClient,
    embedder: Embedder,
    documents: Documents,
    rounds: int,
    pids: Sequence[int],
) -> tuple[int, dict[str, list[Spent]]]:
    """Number of chunks, and what each way took."""
    spent: dict[str, list[Spent]] = defaultdict(list)
    texts: list[str] = []
    for number in range(rounds + 1):
        for place, (name, way) in enumerate(WAYS.items()):
            collection = f"round-{number}-way-{place}"
            (await client.put(f"/v1/collections/{collection}", json={})).raise_for_status()
            ready = in_collection(documents, collection)
            spent[name].append(await Meter(pids).of(way(client, ready)))
            texts = texts or await stored_texts(database)
            (await client.delete(f"/v1/collections/{collection}")).raise_for_status()
        spent[BARE].append(await Meter([]).of(embedder.embed_passages(texts)))
    return len(texts), {name: values[1:] for name, values in spent.items()}


async def stored_texts(database: Database) -> list[str]:
    """What was embedded."""
    async with database.read() as connection:
        rows = await connection.fetch("SELECT indexed_content FROM chunks ORDER BY id")
    return [row[0] for row in rows]


async def bench(documents: Documents, rounds: int, extraction: str) -> tuple[int, dict[str, Spent]]:
    """Start, measure, stop; the number of chunks and the medians by way."""
    embedder = await open_embedder(Settings())
    with state_folder() as place, EmbeddedPostgres(place / "pg") as server:
        await migrate(server.dsn, dialect="native")
        postmaster = int((server.data_dir / "postmaster.pid").read_text().split()[0])
        api, url = start_api({"DATABASE_URL": server.dsn, "RAGBASE_EXTRACTION": extraction})
        try:
            async with (
                httpx.AsyncClient(base_url=url, timeout=900) as client,
                await Database.open(server.dsn, min_size=1) as database,
            ):
                chunks, spent = await measure(
                    database, client, embedder, documents, rounds, [api.pid, postmaster]
                )
        finally:
            api.terminate()
            api.wait(30)
    await embedder.aclose()
    return chunks, {name: medians(values) for name, values in spent.items()}


def medians(values: Sequence[Spent]) -> Spent:
    """Of the clock and of CPU time, each for itself."""
    return Spent(
        statistics.median(value.clock for value in values),
        statistics.median(value.cpu for value in values),
    )


def as_markdown(documents: int, chunks: int, spent: dict[str, Spent]) -> str:
    """The report as a table; shares are the bare embedder's time over the way's."""
    bare = spent[BARE]
    lines = [
        f"### Ingest of {documents:,} documents, {chunks:,} chunks",
        "",
        "| way | chunks/s | of the bare embedder | CPU ms a chunk | of the bare embedder |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {name} | {chunks / took.clock:.1f} | {bare.clock / took.clock:.2f} "
        f"| {1000 * took.cpu / chunks:.1f} | {bare.cpu / took.cpu:.2f} |"
        for name, took in spent.items()
    ]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--extraction", default="off", help="RAGBASE_EXTRACTION of the API")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    folder = needed_evaldata()
    documents = read_documents(folder, arguments.documents)
    chunks, spent = asyncio.run(bench(documents, arguments.rounds, arguments.extraction))
    text = as_markdown(len(documents), chunks, spent)
    print(text)
    share = spent[BARE].clock / spent["lines"].clock
    bar = Bar("lines as a share of the bare embedder", share, LEAST_SHARE, at_least=True)
    if arguments.out:
        seconds = {name: asdict(took) for name, took in spent.items()}
        report = {"documents": len(documents), "chunks": chunks, "seconds": seconds}
        write_report(arguments.out / "ingest", report, [bar], text)
    return 0 if bar.met else 1


if __name__ == "__main__":
    sys.exit(main())
