"""Memory of the second API while one request makes a thousand chunks.

Method. The growth of the resident set while one ``POST /v1/chunk`` of 60,000 words makes 1,000 chunks
by the in-process model, after one of 50 has warmed it up; request and answer, in the same process,
are part of it.

Usage: python -m bench.localrag_memory [--out bench/results]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import psutil
import structlog

from bench.localrag import clients
from bench.report import Bar, state_folder, write_report
from bench.semantic import SETTINGS
from ragbase.clients.select import open_embedder
from ragbase.embedded import EmbeddedPostgres
from ragbase.settings import Settings
from ragbase.storage.migrations import migrate

CHUNKS, WORDS = 1_000, 60


async def measure(settings: Settings) -> dict[str, float]:
    """MiB by which the process grows while it makes the chunks, and what they weigh."""
    embedder = await open_embedder(Settings())
    process, peak, done = psutil.Process(), 0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.02):
            peak = max(peak, process.memory_info().rss)

    async with clients(settings, embedder) as (_, second):
        model = (await embedder.info()).model
        step = " ".join(f"word{n % 977}" for n in range(60))
        warm = {"text": " ".join([step] * 50), "model": model, "chunkSize": 60, "overlap": 0}
        await second.post("/v1/chunk", json=warm)
        before = process.memory_info().rss
        watcher = threading.Thread(target=watch)
        watcher.start()
        text = " ".join(f"w{n}" if n % 60 == 0 else f"word{n % 977}" for n in range(60_000))
        started = time.perf_counter()
        answer = await second.post(
            "/v1/chunk", json={"text": text, "model": model, "chunkSize": 60, "overlap": 0}
        )
        took = time.perf_counter() - started
        done.set()
        watcher.join()
        made = len(answer.json()["chunks"])
    await embedder.aclose()
    return {
        "chunks": made,
        "answer_mb": len(answer.content) / 1e6,
        "growth_mib": (peak - before) / 2**20,
        "seconds": took,
    }


async def bench() -> dict[str, Any]:
    """On a server of its own."""
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    with state_folder() as state, EmbeddedPostgres(state / "pg", settings=SETTINGS) as server:
        await migrate(server.dsn, dialect="native")
        settings = Settings(
            database_url=server.dsn,  # type: ignore[arg-type]
            workers=0,
            graph_enabled=False,
            localrag_models_dir=state / "models",
        )
        return {"load": os.getloadavg(), **await measure(settings)}


def main() -> int:
    """Run, print Markdown, write JSON; 1 where the bound is passed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    report = asyncio.run(bench())
    bar = Bar("growth for 1,000 chunks, MiB", report["growth_mib"], 100)
    text = (
        f"### Second API: {report['chunks']:,} chunks by one request (load {report['load'][0]:.1f})\n\n"
        f"{report['seconds']:.1f} s, an answer of {report['answer_mb']:.1f} MB; the process grew by "
        f"{bar.value:.1f} MiB (at most {bar.limit:.0f}: {'met' if bar.met else 'MISSED'})."
    )
    print(text, flush=True)
    if arguments.out:
        write_report(arguments.out / "localrag-memory", report, [bar], text)
    return 0 if bar.met else 1


if __name__ == "__main__":
    sys.exit(main())
