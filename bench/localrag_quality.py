"""Retrieve of the second API on a judged set, beside the semantic arm on the same chunk texts.

Method. The set's documents are stored by ``POST /v1/store`` with default windows and no contexts, once
with the served model (MiniLM by ONNX Runtime, fp32) and, where a folder of GGUF files is named, once
with a GGUF model. Each query is asked of ``POST /v1/retrieve`` (50 rows, no reranker) and, for the
served model, of ``POST /v1/search/semantic`` of the first API on the collection ``localrag``, that is on
the same chunks. A document ranks by its best chunk; nDCG@10 by ir-measures.

Usage: python -m bench.localrag_quality [--set cranfield] [--gguf FOLDER --model NAME] [--out bench/results]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import structlog

from bench.corpus import needed_evaldata
from bench.localrag import clients
from bench.report import Bar, state_folder, write_report
from bench.semantic import SETTINGS
from ragbase.clients.embedder import Embedder
from ragbase.clients.select import open_embedder
from ragbase.embedded import EmbeddedPostgres
from ragbase.evaluation.dataset import Dataset, load_dataset
from ragbase.evaluation.measures import average, document_ranking, score_queries
from ragbase.settings import Settings
from ragbase.storage.migrations import migrate

ROWS = 50
AT_ONCE = 4


async def store(client: httpx.AsyncClient, dataset: Dataset) -> dict[str, str]:
    """Store every document; file id → document id."""
    waiting = iter(dataset.documents)
    files: dict[str, str] = {}

    async def work() -> None:
        for document in waiting:
            text = f"{document.title}\n{document.text}" if document.title else document.text
            answer = await client.post("/v1/store", json={"document": text}, timeout=600)
            assert answer.status_code == 200, answer.text
            files[answer.json()["file_id"]] = document.id

    await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    return files


async def ndcg(dataset: Dataset, rank: Callable[[str], Any]) -> float:
    """Mean nDCG@10 of the rankings that ``rank`` gives to the queries."""
    rankings = {query.id: await rank(query.text) for query in dataset.queries}
    return average(score_queries(rankings, dataset.qrels).values())["nDCG@10"]


async def trial(
    dataset: Dataset, embedder: Embedder, models: Path, model: str | None
) -> dict[str, float]:
    """nDCG@10 of retrieve and, with the served model, of the semantic arm."""
    with state_folder() as state, EmbeddedPostgres(state / "pg", settings=SETTINGS) as server:
        await migrate(server.dsn, dialect="native")
        chosen = {} if model is None else {"localrag_embedding_model": model}
        settings = Settings(
            database_url=server.dsn,  # type: ignore[arg-type]
            workers=0,
            graph_enabled=False,
            localrag_models_dir=models,
            **chosen,  # type: ignore[arg-type]
        )
        async with clients(settings, embedder) as (first, second):
            started = time.perf_counter()
            files = await store(second, dataset)
            found = {"store_s": time.perf_counter() - started}

            async def retrieve(query: str) -> list[str]:
                body = {"query": query, "top_k": ROWS, "shouldRerank": False}
                answer = await second.post("/v1/retrieve", json=body)
                rows = answer.json()["results"]
                return document_ranking(files[row["metadata"]["file_id"]] for row in rows)

            async def semantic(query: str) -> list[str]:
                body = {"query": query, "top_k": ROWS, "collection": "localrag"}
                answer = await first.post("/v1/search/semantic", json=body)
                rows = answer.json()["results"]
                return document_ranking(files[row["external_id"]] for row in rows)

            found["retrieve"] = await ndcg(dataset, retrieve)
            if model is None:
                found["semantic"] = await ndcg(dataset, semantic)
        return found


async def bench(name: str, models: Path | None, model: str) -> dict[str, Any]:
    """Both models on one set."""
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    dataset = load_dataset(needed_evaldata() / name)
    embedder = await open_embedder(Settings())
    report: dict[str, Any] = {
        "set": name,
        "documents": len(dataset.documents),
        "queries": len(dataset.queries),
        "load": os.getloadavg(),
        "served": (await embedder.info()).model,
    }
    with state_folder() as empty:
        report["rows"] = {"served": await trial(dataset, embedder, empty, None)}
    if models is not None:
        report["gguf"] = model
        report["rows"]["gguf"] = await trial(dataset, embedder, models, model)
    await embedder.aclose()
    return report


def bars(report: dict[str, Any]) -> list[Bar]:
    """Within 0.01 of the semantic arm."""
    semantic = report["rows"]["served"]["semantic"]
    return [
        Bar(f"nDCG@10 of the semantic arm - retrieve, {name}", semantic - row["retrieve"], 0.01)
        for name, row in report["rows"].items()
    ]


def as_markdown(report: dict[str, Any], demands: list[Bar]) -> str:
    """The report as a table."""
    lines = [
        f"### Second API on {report['set']}: {report['documents']:,} documents, "
        f"{report['queries']} queries (load {report['load'][0]:.1f})",
        "",
        "| | nDCG@10 |",
        "|---|---|",
        f"| semantic arm, {report['served']} | {report['rows']['served']['semantic']:.4f} |",
        f"| retrieve, {report['served']} | {report['rows']['served']['retrieve']:.4f} |",
    ]
    if "gguf" in report["rows"]:
        lines.append(
            f"| retrieve, {report['gguf']}.gguf | {report['rows']['gguf']['retrieve']:.4f} |"
        )
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
    parser.add_argument("--set", default="cranfield")
    parser.add_argument(
        "--gguf", type=Path, help="folder of GGUF files; else the served model only"
    )
    parser.add_argument("--model", default="all-MiniLM-L6-v2.Q8_0")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    report = asyncio.run(bench(arguments.set, arguments.gguf, arguments.model))
    demands = bars(report)
    text = as_markdown(report, demands)
    print(text, flush=True)
    if arguments.out:
        write_report(arguments.out / f"localrag-{arguments.set}", report, demands, text)
    return 0 if all(bar.met for bar in demands) else 1


if __name__ == "__main__":
    sys.exit(main())
