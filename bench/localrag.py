"""Retrieve of the second API: recall of its candidates, latency beside semantic search.

Method. An embedded Postgres is filled with resampled chunks (`bench.corpus`) in the collection
``localrag``. A chunk's context has a vector of its own: half of the chunk's, half of its document's
(the mean of its chunks), plus noise. Queries are stored vectors plus noise. Recall@20 compares
`DualIndex.search` with `DualIndex.scan`, which scores every chunk, without contexts and with them.
Latency is of whole requests, in process, interleaved: ``POST /v1/retrieve`` of the second API and
``POST /v1/search/semantic`` of the first on the same collection, 20 rows each, by an embedder that
knows the queries' vectors already.

Usage: python -m bench.localrag --chunks 50000 [--out bench/results]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import structlog
from numpy.typing import NDArray

from bench.corpus import CHUNKS_PER_DOCUMENT, load, needed_evaldata, read_sources, sample
from bench.report import Bar, state_folder, write_report
from bench.semantic import SETTINGS, base_vectors
from ragbase.clients.embedder import EmbedderInfo
from ragbase.embedded import EmbeddedPostgres
from ragbase.main import create_app
from ragbase.main_localrag import create_localrag_app
from ragbase.models.domain import Vector
from ragbase.retrieval.dual import DualIndex
from ragbase.settings import Settings
from ragbase.storage.embedding_models import EmbeddingModel, ensure_file_model
from ragbase.storage.files import made_collection
from ragbase.storage.migrations import migrate
from ragbase.storage.pool import Database

ROWS = 20
WEIGHT, CANDIDATES, EF_SEARCH = 0.6, 200, 200
Vectors = NDArray[np.float32]


class Known:
    """An embedder that has the vector of each query at hand: a query's text is its number."""

    tokenizer = None

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors

    async def info(self) -> EmbedderInfo:
        return EmbedderInfo("bench", self._vectors.shape[1], 256, 2)

    async def embed_query(self, text: str) -> tuple[Vector, bool]:
        return self._vectors[int(text)], False

    async def ping(self) -> None:
        return None


def contexts_of(vectors: Vectors, random: np.random.Generator) -> Vectors:
    """Vectors of contexts: they tell of the document as much as of the chunk."""
    owner = np.arange(len(vectors)) // CHUNKS_PER_DOCUMENT
    means = np.zeros((owner[-1] + 1, vectors.shape[1]), np.float32)
    np.add.at(means, owner, vectors)
    mixed = unit(vectors) + unit(means)[owner]
    return noisy(unit(mixed), 0.35, random)


def noisy(rows: Vectors, length: float, random: np.random.Generator) -> Vectors:
    """Rows moved by noise of this length, as unit vectors."""
    noise = random.standard_normal(rows.shape, dtype=np.float32) / np.sqrt(rows.shape[1])
    return unit(rows + length * noise)


def unit(rows: Vectors) -> Vectors:
    """Rows of length 1."""
    scaled: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return scaled


async def fill(db: Database, chunks: int, folder: Path) -> tuple[EmbeddingModel, Vectors, str]:
    """Load and index, without contexts; the model, the chunks' vectors, where they come from."""
    sources = read_sources(folder)
    base, origin = await base_vectors(sources, "")
    corpus = sample(sources, chunks, shares=[1.0], base_vectors=base)
    async with db.acquire() as connection:
        await connection.execute("SET statement_timeout = 0")
        collection = await made_collection(connection)
        model = await ensure_file_model(
            connection, "bench", base.shape[1], hnsw_m=16, hnsw_ef_construction=64
        )
        await load(connection, corpus, [collection.id], model_id=model.id)
        await connection.execute("UPDATE documents SET external_id = md5(id::text)")
        await connection.execute("VACUUM ANALYZE")
    return model, corpus.vectors, origin


async def add_contexts(db: Database, model: EmbeddingModel, vectors: Vectors) -> None:
    """A vector of kind ``context`` for every chunk."""
    random = np.random.default_rng(5)
    rows = contexts_of(vectors, random)
    async with db.acquire() as connection:
        await connection.execute("SET statement_timeout = 0")
        collection = await made_collection(connection)
        await connection.copy_records_to_table(
            "embeddings",
            records=[
                (i + 1, i // CHUNKS_PER_DOCUMENT + 1, collection.id, model.id, "context", rows[i])
                for i in range(len(rows))
            ],
            columns=["chunk_id", "document_id", "collection_id", "model_id", "kind", "embedding"],
        )
        await connection.execute("VACUUM ANALYZE embeddings")


async def recall(db: Database, model: EmbeddingModel, queries: Vectors) -> float:
    """Share of the full scan's 20 best chunks that the candidates bring."""
    index = DualIndex(model, weight=WEIGHT, candidates=CANDIDATES, ef_search=EF_SEARCH)
    async with db.acquire() as connection:
        collection = await made_collection(connection)
    shares = []
    for query in queries:
        found = await index.search(
            db, query, collection.id, filtered=None, limit=ROWS, threshold=-1.0
        )
        async with db.acquire() as connection:
            whole = await index.scan(connection, query, collection.id, limit=ROWS, threshold=-1.0)
        best = {(hit.file_id, hit.content, hit.combined) for hit in whole}
        shares.append(
            len({(hit.file_id, hit.content, hit.combined) for hit in found} & best) / len(best)
        )
    return statistics.fmean(shares)


@asynccontextmanager
async def clients(
    settings: Settings, embedder: Any
) -> AsyncIterator[tuple[httpx.AsyncClient, httpx.AsyncClient]]:
    """Clients of both APIs, over the same services."""
    first = create_app(settings, embedder=embedder, localrag=True)
    second = create_localrag_app(settings)
    async with first.router.lifespan_context(first):
        second.state.services = first.state.services
        async with (
            httpx.AsyncClient(
                transport=httpx.ASGITransport(first), base_url="http://127.0.0.1"
            ) as one,
            httpx.AsyncClient(
                transport=httpx.ASGITransport(second), base_url="http://127.0.0.1"
            ) as two,
        ):
            yield one, two


async def latency(settings: Settings, queries: Vectors) -> dict[str, list[float]]:
    """Milliseconds of each request, by way."""
    times: dict[str, list[float]] = {"semantic": [], "retrieve": []}
    async with clients(settings, Known(queries)) as (first, second):
        for warm in (True, False):
            for number in range(len(queries)):
                semantic = {"query": str(number), "collection": "localrag", "top_k": ROWS}
                retrieve = {"query": str(number), "top_k": ROWS, "shouldRerank": False}
                for name, client, path, body in (
                    ("semantic", first, "/v1/search/semantic", semantic),
                    ("retrieve", second, "/v1/retrieve", retrieve),
                ):
                    started = time.perf_counter()
                    answer = await client.post(path, json=body)
                    took = (time.perf_counter() - started) * 1000
                    assert len(answer.json()["results"]) == ROWS, answer.text
                    if not warm:
                        times[name].append(took)
    return times


async def bench(chunks: int, queries: int, folder: Path) -> dict[str, Any]:
    """All of it on one server."""
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    report: dict[str, Any] = {"chunks": chunks, "load": os.getloadavg(), "rows": {}}
    with state_folder() as state, EmbeddedPostgres(state / "pg", settings=SETTINGS) as server:
        await migrate(server.dsn, dialect="native")
        settings = Settings(
            database_url=server.dsn,  # type: ignore[arg-type]
            workers=0,
            localrag_models_dir=state / "models",
            graph_enabled=False,
        )
        async with await Database.open(server.dsn, ef_search=EF_SEARCH) as db:
            model, vectors, report["vectors"] = await fill(db, chunks, folder)
            random = np.random.default_rng(3)
            picked = random.choice(len(vectors), queries, replace=False)
            asked = noisy(vectors[picked], 0.5, random)
            for name in ("without contexts", "with contexts"):
                if name == "with contexts":
                    await add_contexts(db, model, vectors)
                found = await recall(db, model, asked)
                times = await latency(settings, asked)
                report["rows"][name] = {"recall": found} | {
                    way: {"p50": statistics.median(each), "p95": float(np.percentile(each, 95))}
                    for way, each in times.items()
                }
    return report


def bars(report: dict[str, Any]) -> list[Bar]:
    """Recall of at least 0.99; a median of at most 1.5 times semantic search's."""
    found: list[Bar] = []
    for name, row in report["rows"].items():
        ratio = row["retrieve"]["p50"] / row["semantic"]["p50"]
        found.append(Bar(f"recall@20, {name}", row["recall"], 0.99, True))
        found.append(Bar(f"retrieve / semantic p50, {name}", ratio, 1.5))
    return found


def as_markdown(report: dict[str, Any], demands: Sequence[Bar]) -> str:
    """The report as tables."""
    lines = [
        f"### Second API, {report['chunks']:,} chunks (load {report['load'][0]:.1f})",
        "",
        f"Vectors: {report['vectors']}.",
        "",
        "| | semantic p50 / p95 ms | retrieve p50 / p95 ms | recall@20 |",
        "|---|---|---|---|",
    ]
    for name, row in report["rows"].items():
        ways = [
            f"{row[way]['p50']:.2f} / {row[way]['p95']:.2f}" for way in ("semantic", "retrieve")
        ]
        lines.append(f"| {name} | {' | '.join(ways)} | {row['recall']:.4f} |")
    lines += ["", "| demand | value | limit | |", "|---|---|---|---|"]
    lines += [
        f"| {bar.name} | {bar.value:.4f} | {bar.limit} | {'met' if bar.met else 'MISSED'} |"
        for bar in demands
    ]
    return "\n".join(lines)


def main() -> int:
    """Run, print Markdown, write JSON; 1 where a demand is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--chunks", type=int, default=50_000)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    report = asyncio.run(bench(arguments.chunks, arguments.queries, needed_evaldata()))
    demands = bars(report)
    text = as_markdown(report, demands)
    print(text, flush=True)
    if arguments.out:
        write_report(arguments.out / f"localrag-{arguments.chunks}", report, demands, text)
    return 0 if all(bar.met for bar in demands) else 1


if __name__ == "__main__":
    sys.exit(main())
