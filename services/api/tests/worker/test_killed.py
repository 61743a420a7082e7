"""Worker processes that are killed: nothing is lost, nothing is stored twice."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

TEXT = "\n\n".join(
    f"Paragraph {n}. Ships moor at the north quay, and their captains pay the fee at noon. " * 4
    for n in range(10)
)
LEASE_S = 5
Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start_worker(database_url: str, tmp_path: Path) -> Iterator[Start]:
    """Starts `ragbase worker` on the test's database."""
    started: list[subprocess.Popen[bytes]] = []

    def start(**settings: str) -> subprocess.Popen[bytes]:
        environment = {
            **os.environ,
            "DATABASE_URL": database_url,
            "RAGBASE_JOB_LEASE": str(LEASE_S),
            "RAGBASE_POOL_MIN": "0",
            **settings,
        }
        with (tmp_path / f"worker-{len(started)}.log").open("wb") as log:
            started.append(
                subprocess.Popen(
                    [sys.executable, "-m", "ragbase", "worker", "--jobs", "3"],
                    env=environment,
                    stdout=log,
                    stderr=log,
                )
            )
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


async def count(bench: Any, statement: str) -> int:
    async with bench.database.acquire() as connection:
        found: int = await connection.fetchval(statement)
    return found


def document(title: str, **fields: Any) -> dict[str, Any]:
    return {"title": title, "content": TEXT, **fields}


@pytest.mark.slow
async def test_killed_workers_lose_nothing_and_store_nothing_twice(
    bench: Any, start_worker: Start, eventually: Any
) -> None:
    """B059: jobs of a process that was killed finish in another, or fail and can be retried."""
    jobs = []
    for turn in range(2):
        # Anew for each: what the one before left may be done before we have looked once.
        jobs += [await bench.submit(document(f"Document {turn}-{n}")) for n in range(15)]
        before = await count(bench, "SELECT count(*) FROM jobs WHERE state = 'succeeded'")
        victim = start_worker()

        async def busy(before: int = before) -> bool:
            done = await count(bench, "SELECT count(*) FROM jobs WHERE state = 'succeeded'")
            running = await count(bench, "SELECT count(*) FROM jobs WHERE state = 'running'")
            return done > before and running > 0

        await eventually(busy, seconds=60)
        victim.send_signal(signal.SIGKILL)
        victim.wait()
    assert await count(bench, "SELECT count(*) FROM jobs WHERE state = 'succeeded'") < len(jobs)
    start_worker()
    for job in jobs:
        ended = await bench.ended(job, seconds=120)
        assert (ended.state, ended.document_id is not None) == ("succeeded", True)
    assert await count(bench, "SELECT count(*) FROM documents") == len(jobs)
    assert await count(bench, "SELECT count(DISTINCT title) FROM documents") == len(jobs)
    per_document = "(SELECT count(*) FROM chunks c WHERE c.document_id = d.id)"
    assert await count(bench, f"SELECT count(DISTINCT {per_document}) FROM documents d") == 1
    assert await count(bench, "SELECT count(*) FROM chunks") == await count(
        bench, "SELECT count(*) FROM embeddings"
    )


@pytest.mark.slow
async def test_sigterm_ends_a_worker_kindly(
    bench: Any, start_worker: Start, eventually: Any, unused_port: int
) -> None:
    worker = start_worker(RAGBASE_METRICS_PORT=str(unused_port))
    job = await bench.submit(document("One"))
    assert (await bench.ended(job, seconds=60)).state == "succeeded"
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{unused_port}") as client:
        assert (await client.get("/health/live")).json() == {"status": "ok"}
        metrics = (await client.get("/metrics")).text
        assert 'ragbase_ingest_documents_total{outcome="created"} 1.0' in metrics
        assert (await client.get("/v1/jobs")).status_code == 404
    waiting = [await bench.submit(document(f"Document {n}")) for n in range(30)]

    async def busy() -> bool:
        return await count(bench, "SELECT count(*) FROM jobs WHERE state = 'running'") > 0

    await eventually(busy)
    worker.terminate()
    assert await asyncio.to_thread(worker.wait, 30) == 0
    assert await count(bench, "SELECT count(*) FROM jobs WHERE state = 'running'") == 0
    left = await count(bench, "SELECT count(*) FROM jobs WHERE state = 'queued'")
    assert 0 < left < len(waiting)
    assert await count(bench, "SELECT max(attempts) FROM jobs") == 1
