"""Semantic search: recall against an exact comparison, and latency of each way, in one run.

Method. An embedded Postgres is filled with resampled chunks (`bench.corpus`) in four collections
(half of all, a third, 15 %, 1 %). Base vectors are real embeddings of 2,000 sentences where the
in-process model is at hand (``--model``), else random unit vectors in clusters; the report says
which. A query is a stored vector plus noise. Recall@20 is against numpy over all vectors, float64.
Filters are by metadata: a hundredth drawn at random, and a hundredth chosen for each query among
the chunks least like it. Latencies are interleaved; ratios within a run are what counts.

Usage: python -m bench.semantic --chunks 10000 [--model FOLDER] [--out bench/results]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.corpus import Corpus, Source, clustered, load, needed_evaldata, read_sources, sample
from bench.report import Bar, state_folder, write_report
from ragbase.clients.select import open_embedder
from ragbase.embedded import EmbeddedPostgres
from ragbase.errors import RagBaseError
from ragbase.models.domain import Hit
from ragbase.retrieval.filters import Condition
from ragbase.retrieval.semantic import SemanticIndex
from ragbase.retrieval.semantic_statements import VectorStatements
from ragbase.settings import Settings
from ragbase.storage.embedding_models import EmbeddingModel, ensure_index, ensure_row
from ragbase.storage.migrations import migrate
from ragbase.storage.pool import Connection, Database

SETTINGS = {"shared_buffers": "2GB", "maintenance_work_mem": "2GB", "max_wal_size": "4GB"}
SHARES = (0.50, 0.34, 0.15, 0.01)
EF_SEARCH = 100
DEPTHS = (20, 200, 1000)


async def base_vectors(sources: list[Source], model: str) -> tuple[NDArray[np.float32], str]:
    """Real embeddings of 2,000 sentences, or clusters; and which of the two."""
    try:
        embedder = await open_embedder(Settings(EMBEDDING_MODEL=model))
    except RagBaseError as error:
        print(f"No embedder ({error.message}): clustered random vectors.", file=sys.stderr)
        return clustered(2_000, 384), "clustered random vectors"
    step = max(1, len(sources) // 2_000)
    vectors = await embedder.embed_passages([source.text for source in sources[::step][:2_000]])
    name = (await embedder.info()).model
    await embedder.aclose()
    return vectors, f"embeddings by {name}"


async def fill(db: Database, corpus: Corpus) -> tuple[EmbeddingModel, list[int], float]:
    """Load and index; the model, the collections, and the seconds of the index build."""
    async with db.acquire() as connection:
        await connection.execute("SET statement_timeout = 0")
        collections = [
            await connection.fetchval(
                "INSERT INTO collections (name) VALUES ($1) RETURNING id", f"part-{n}"
            )
            for n in range(len(SHARES))
        ]
        model = await ensure_row(connection, "bench", corpus.vectors.shape[1])
        await load(connection, corpus, collections, model_id=model.id)
        await connection.execute(
            "UPDATE chunks SET metadata = jsonb_build_object('part', id % 100, 'lot', id % 10)"
        )
        started = time.perf_counter()
        await ensure_index(connection, model, hnsw_m=16, hnsw_ef_construction=64)
        built = time.perf_counter() - started
        await connection.execute("VACUUM ANALYZE")
    return model, collections, built


def recall(hits: list[Hit], scores: NDArray[np.float64], allowed: NDArray[np.bool_]) -> float:
    """Share of the 20 best allowed chunks (ids are place + 1) among the first 20 hits."""
    best = np.argsort(np.where(allowed, -scores, np.inf))[: min(20, int(allowed.sum()))]
    return len({hit.chunk_id - 1 for hit in hits[:20]} & set(best.tolist())) / len(best)


class Trial:
    """Asks each query in each way; keeps milliseconds and recalls by way."""

    def __init__(
        self, connection: Connection, model: EmbeddingModel, corpus: Corpus, collections: list[int]
    ) -> None:
        self.connection = connection
        self.index = SemanticIndex(model.id, model.dimension, EF_SEARCH)
        self.statements = VectorStatements(model.id, model.dimension)
        self.vectors = corpus.vectors.astype(np.float64)
        self.collections = collections
        # A document's chunks are in the collection that was drawn for its first chunk.
        self.owner = np.repeat(corpus.collection[::10], 10)[: len(corpus.texts)]
        self.ids = np.arange(1, len(corpus.texts) + 1)
        self.times: dict[str, list[float]] = defaultdict(list)
        self.recalls: dict[str, list[float]] = defaultdict(list)

    async def ask(self, query: NDArray[np.float32]) -> None:
        """One query in every way."""
        scores = self.vectors @ query.astype(np.float64)
        everything = np.ones(len(scores), dtype=bool)
        for depth in DEPTHS:
            await self.timed(f"all, {depth} deep", query, scores, everything, depth=depth)
        for number in range(len(SHARES)):
            await self.timed(
                f"collection of {SHARES[number]:.0%}",
                query,
                scores,
                self.owner == number,
                collections=[self.collections[number]],
            )
        for key, divisor in (("lot", 10), ("part", 100)):
            condition = Condition("c.metadata @> $3::text::jsonb", [f'{{"{key}": 7}}'])
            name = f"filter of {1 / divisor:.0%}"
            await self.timed(name, query, scores, self.ids % divisor == 7, filtered=condition)
        far = np.argsort(scores)[: len(scores) // 100]
        condition = Condition("c.id = ANY($3::bigint[])", [(far + 1).tolist()])
        name = "filter of 1 %, least like the query"
        await self.timed(name, query, scores, np.isin(self.ids - 1, far), filtered=condition)
        started = time.perf_counter()
        await self.connection.fetch(self.statements.exact(20), query, self.collections)
        self.times["exact scan of all"].append((time.perf_counter() - started) * 1000)

    async def timed(
        self,
        name: str,
        query: NDArray[np.float32],
        scores: NDArray[np.float64],
        allowed: NDArray[np.bool_],
        *,
        collections: list[int] | None = None,
        filtered: Condition | None = None,
        depth: int = 200,
    ) -> None:
        started = time.perf_counter()
        hits = await self.index.search(
            self.connection,
            query,
            collections or self.collections,
            filtered=filtered,
            depth=depth,
        )
        self.times[name].append((time.perf_counter() - started) * 1000)
        self.recalls[name].append(recall(hits, scores, allowed))


async def bench(chunks: int, queries: int, folder: Path, model: str) -> dict[str, Any]:
    """All measurements at one size."""
    sources = read_sources(folder)
    base, origin = await base_vectors(sources, model)
    corpus = sample(sources, chunks, shares=SHARES, base_vectors=base)
    chance = np.random.default_rng(17)
    places = chance.choice(chunks, queries, replace=False)
    noise = (
        chance.standard_normal((queries, base.shape[1]), dtype=np.float32) / base.shape[1] ** 0.5
    )
    asked = corpus.vectors[places] + 0.5 * noise
    asked /= np.linalg.norm(asked, axis=1, keepdims=True)
    with (
        state_folder() as state,
        EmbeddedPostgres(state / "postgres", settings=SETTINGS) as server,
    ):
        await migrate(server.dsn, dialect="native")
        async with await Database.open(
            server.dsn, statement_timeout_s=3600, ef_search=EF_SEARCH
        ) as db:
            row, collections, built = await fill(db, corpus)
            async with db.acquire() as connection:
                trial = Trial(connection, row, corpus, collections)
                await trial.ask(asked[0])  # warms up
                trial.times.clear()
                trial.recalls.clear()
                for query in asked:
                    await trial.ask(query)
    rows = {
        name: {
            "p50": statistics.median(values),
            "p95": float(np.percentile(values, 95)),
            "recall": statistics.fmean(trial.recalls[name]) if name in trial.recalls else 1.0,
        }
        for name, values in trial.times.items()
    }
    return {
        "chunks": chunks,
        "load": os.getloadavg(),
        "vectors": origin,
        "build_s": built,
        "rows": rows,
    }


def bars(report: dict[str, Any]) -> list[Bar]:
    """Recall@20 of at least 0.95 by the index alone, 0.99 under any filter or collection."""
    return [
        Bar(f"recall@20, {name}", row["recall"], 0.95 if name.startswith("all") else 0.99, True)
        for name, row in report["rows"].items()
    ]


def as_markdown(report: dict[str, Any], demands: list[Bar]) -> str:
    """The report as a table."""
    lines = [
        f"### Semantic search, {report['chunks']:,} chunks (load {report['load'][0]:.1f})",
        "",
        f"Vectors: {report['vectors']}; index built in {report['build_s']:.1f} s.",
        "",
        "| way | p50 ms | p95 ms | recall@20 | at least | |",
        "|---|---|---|---|---|---|",
    ]
    for (name, row), bar in zip(report["rows"].items(), demands, strict=True):
        verdict = "met" if bar.met else "MISSED"
        lines.append(
            f"| {name} | {row['p50']:.2f} | {row['p95']:.2f} | {row['recall']:.4f} "
            f"| {bar.limit} | {verdict} |"
        )
    return "\n".join(lines)


def main() -> int:
    """Run, print Markdown, write JSON; 1 where a demand is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--chunks", type=int, nargs="+", default=[10_000])
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument("--model", default="", help="folder or name; default: the product's")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    folder = needed_evaldata()
    missed = False
    for chunks in arguments.chunks:
        report = asyncio.run(bench(chunks, arguments.queries, folder, arguments.model))
        demands = bars(report)
        missed = missed or not all(bar.met for bar in demands)
        text = as_markdown(report, demands)
        print(text, flush=True)
        if arguments.out:
            write_report(arguments.out / f"semantic-{chunks}", report, demands, text)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
