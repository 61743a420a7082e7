"""Uploads of large files: what they cost the API in memory, and its health while they last.

Method. An API runs as a process of its own over an embedded, durable Postgres, with default limits.
Files go to `POST /v1/documents/upload` one after the other while `/health/live` is asked every 20 ms;
the API's resident memory (not that of the processes that read files, whose address space is bounded by
`RAGBASE_PARSE_MEMORY_BYTES`) is sampled every 20 ms. Each case starts an API of its own. Texts are
cut by the default model's tokens, but its vectors are made up: embedding takes a few batches' memory
whatever the document, and would only make the run longer (`--real` embeds all the same).

    50 MB of text    → 413 and no growth to speak of; health answers throughout
    5 M characters   → stored; memory bounded; health answers throughout

Usage: python -m bench.upload [--real] [--out bench/results]
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import os
import random
import subprocess
import sys
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import uvicorn

from bench.report import Bar, state_folder, write_report
from bench.server import free_port, rss_mb, start_api
from ragbase.clients.embedder import Embedder
from ragbase.clients.select import open_embedder
from ragbase.embedded import EmbeddedPostgres
from ragbase.main import create_app
from ragbase.models.domain import Vectors
from ragbase.settings import Settings
from ragbase.storage.migrations import migrate
from ragbase.telemetry.logs import configure_logging

PAUSE_S = 0.02
HEALTH_P99_MS = 250.0
GROWTH_REFUSED_MB = 150.0
GROWTH_STORED_MB = 1000.0
WORDS = 4000


def prose(characters: int) -> str:
    """Paragraphs of made-up words, the same at every run."""
    rng = random.Random(1)
    words = [
        "".join(rng.choices("abcdefghijklmnoprstuvw", k=rng.randint(2, 10))) for _ in range(WORDS)
    ]
    parts: list[str] = []
    total = 0
    while total < characters:
        text = ". ".join(" ".join(rng.choices(words, k=12)).capitalize() for _ in range(8))
        parts.append(f"{text}.\n\n")
        total += len(parts[-1])
    return "".join(parts)[:characters]


def word_document(text: str) -> bytes:
    """A DOCX file of these paragraphs."""
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    paragraphs = "".join(f"<w:p><w:r><w:t>{part}</w:t></w:r></w:p>" for part in text.split("\n\n"))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("[Content_Types].xml", "<Types/>")
        package.writestr(
            "word/document.xml",
            f'<w:document xmlns:w="{space}"><w:body>{paragraphs}</w:body></w:document>',
        )
    return file.getvalue()


def cases() -> dict[str, tuple[str, bytes]]:
    """File names and contents."""
    book = prose(1_000_000)
    html = "<title>Book</title>" + "".join(f"<p>{part}" for part in book.split("\n\n"))
    return {
        "50 MB of text": ("big.txt", prose(50_000_000).encode()),
        "5 M characters of text": ("long.txt", prose(4_999_000).encode()),
        "1 M characters of HTML": ("book.html", html.encode()),
        "1 M characters of DOCX": ("book.docx", word_document(book)),
    }


class MadeUpVectors:
    """The default embedder without its model's work."""

    def __init__(self, real: Embedder) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors, others at each call."""
        dimension = (await self._real.info()).dimension
        made = np.random.default_rng().standard_normal((len(texts), dimension), dtype=np.float32)
        unit: Vectors = made / np.linalg.norm(made, axis=1, keepdims=True)
        return unit


async def serve(port: int) -> None:
    """The API with made-up vectors, until a signal."""
    settings = Settings()
    configure_logging("warning", "console")
    embedder: Any = MadeUpVectors(await open_embedder(settings))
    app = create_app(settings, embedder=embedder)
    await uvicorn.Server(uvicorn.Config(app, port=port, log_config=None, ws="none")).serve()


def start(dsn: str, *, real: bool) -> tuple[subprocess.Popen[bytes], str]:
    """An API as a process of its own, and its URL."""
    if real:
        return start_api({"DATABASE_URL": dsn})
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.upload", "--serve", str(port)],
        env={**os.environ, "DATABASE_URL": dsn},
    )
    url = f"http://127.0.0.1:{port}"
    for _ in range(1200):
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"{url}/health/ready").status_code == 200:
                return process, url
        time.sleep(0.05)
    process.kill()
    raise TimeoutError("the API did not become ready")


async def measure(url: str, pid: int, name: str, data: bytes) -> dict[str, Any]:
    """One upload, watched."""
    async with httpx.AsyncClient(base_url=url, timeout=3600, trust_env=False) as client:
        warm = {"file": ("warm.txt", b"Ships moor at the north quay.")}
        (await client.post("/v1/documents/upload", files=warm)).raise_for_status()
        before = rss_mb(pid)
        latencies: list[float] = []
        peak = before
        done = asyncio.Event()

        async def watch_health() -> None:
            while not done.is_set():
                started = time.perf_counter()
                (await client.get("/health/live")).raise_for_status()
                latencies.append(1000 * (time.perf_counter() - started))
                await asyncio.sleep(PAUSE_S)

        async def watch_memory() -> None:
            nonlocal peak
            while not done.is_set():
                peak = max(peak, rss_mb(pid))
                await asyncio.sleep(PAUSE_S)

        started = time.perf_counter()
        watchers = [asyncio.create_task(watch()) for watch in (watch_health, watch_memory)]
        # From a thread: the client's own work must not delay the clock of the health checks.
        answer = await asyncio.to_thread(post, url, name, data)
        seconds = time.perf_counter() - started
        done.set()
        await asyncio.gather(*watchers)
    latencies.sort()
    body = answer.json()
    return {
        "status": answer.status_code,
        "code": body.get("code"),
        "chunks": body.get("chunk_count"),
        "seconds": round(seconds, 2),
        "rss_before_mb": round(before),
        "rss_peak_mb": round(peak),
        "health_p50_ms": round(latencies[len(latencies) // 2], 1),
        "health_p99_ms": round(latencies[int(0.99 * (len(latencies) - 1))], 1),
        "health_max_ms": round(latencies[-1], 1),
    }


def post(url: str, name: str, data: bytes) -> httpx.Response:
    """Upload one file."""
    with httpx.Client(base_url=url, timeout=3600, trust_env=False) as client:
        return client.post("/v1/documents/upload", files={"file": (name, data)})


def run(wanted: list[str], *, real: bool) -> dict[str, dict[str, Any]]:
    """The cases, each on an API of its own."""
    found = {}
    with state_folder() as folder, EmbeddedPostgres(folder / "postgres") as server:
        asyncio.run(migrate(server.dsn, dialect="native"))
        for case in wanted:
            name, data = cases()[case]
            api, url = start(server.dsn, real=real)
            try:
                found[case] = asyncio.run(measure(url, api.pid, name, data))
            finally:
                api.terminate()
                api.wait()
            print(case, found[case], flush=True)
    return found


def bars(found: dict[str, dict[str, Any]]) -> list[Bar]:
    """What must hold."""
    refused, stored = found["50 MB of text"], found["5 M characters of text"]
    growth = {case: row["rss_peak_mb"] - row["rss_before_mb"] for case, row in found.items()}
    return [
        Bar("50 MB of text: refused (413)", float(refused["status"] == 413), 1.0, at_least=True),
        Bar("50 MB of text: growth, MB", growth["50 MB of text"], GROWTH_REFUSED_MB),
        Bar("5 M characters: stored (201)", float(stored["status"] == 201), 1.0, at_least=True),
        Bar("5 M characters: growth, MB", growth["5 M characters of text"], GROWTH_STORED_MB),
        *(
            Bar(f"{case}: p99 of health, ms", row["health_p99_ms"], HEALTH_P99_MS)
            for case, row in found.items()
        ),
    ]


def page(found: dict[str, dict[str, Any]], demands: list[Bar]) -> str:
    """The report as Markdown."""
    columns = list(next(iter(found.values())))
    lines = [
        "# Uploads: memory of the API, and its health meanwhile",
        "",
        f"| file | {' | '.join(columns)} |",
        f"|{'---|' * (len(columns) + 1)}",
        *(
            f"| {case} | {' | '.join(str(row[column]) for column in columns)} |"
            for case, row in found.items()
        ),
        "",
        *(
            f"- {'met' if bar.met else '**missed**'}: {bar.name} {bar.value:g} "
            f"({'at least' if bar.at_least else 'at most'} {bar.limit:g})"
            for bar in demands
        ),
    ]
    return "\n".join(lines)


def main() -> int:
    """Run, report, and tell whether every bar was met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--case", action="append", help="only these")
    parser.add_argument("--real", action="store_true", help="embed with the model")
    parser.add_argument("--serve", type=int, metavar="PORT", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve(options.serve))
        return 0
    found = run(options.case or list(cases()), real=options.real)
    if options.case:
        return 0
    demands = bars(found)
    text = page(found, demands)
    print(text)
    if options.out is not None:
        write_report(options.out / "upload", {"cases": found}, demands, text)
    return 0 if all(bar.met for bar in demands) else 1


if __name__ == "__main__":
    sys.exit(main())
