"""A restart of Postgres costs a worker nothing but the wait."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ragbase.embedded import FAST_SETTINGS, EmbeddedPostgres
from ragbase.storage.migrations import migrate
from ragbase.worker.worker import WorkerOptions


@pytest.fixture
def own_server(state_dir: Path) -> Iterator[EmbeddedPostgres]:
    """A server that the test may stop."""
    with EmbeddedPostgres(state_dir / "worker" / "postgres", settings=FAST_SETTINGS) as server:
        yield server


async def restart(server: EmbeddedPostgres) -> None:
    await asyncio.to_thread(server.stop)
    await asyncio.to_thread(server.start)


async def test_a_worker_goes_on_after_a_restart_of_postgres(
    own_server: EmbeddedPostgres, bench_on: Any, gate: Any, eventually: Any
) -> None:
    await migrate(own_server.dsn, dialect="native")
    async with bench_on(own_server.dsn) as bench:
        # It would poll in an hour: only the signal that is listened for again can wake it.
        await bench.worker({"ingest": gate}, WorkerOptions(concurrency=2, poll_s=3600))
        running = await bench.submit()
        await gate.begun.wait()
        await restart(own_server)

        async def listens() -> bool:
            async with bench.database.acquire() as connection:
                found = await connection.fetchval(
                    "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'ragbase-jobs'"
                )
            return bool(found)

        await eventually(listens)
        gate.go.set()
        later = await bench.submit()
        assert (await bench.ended(later)).state == "succeeded"
        job = await bench.ended(running)
        assert (job.state, job.attempts) == ("succeeded", 1), "it ran through the restart"


async def test_an_end_that_comes_while_postgres_is_away_is_written_later(
    own_server: EmbeddedPostgres, bench_on: Any, gate: Any
) -> None:
    await migrate(own_server.dsn, dialect="native")
    async with bench_on(own_server.dsn) as bench:
        await bench.worker({"ingest": gate})
        job = await bench.submit()
        await gate.begun.wait()
        await asyncio.to_thread(own_server.stop)
        gate.go.set()
        await asyncio.sleep(0.2)  # the first try to write it fails
        await asyncio.to_thread(own_server.start)
        job = await bench.ended(job)
        assert (job.state, job.attempts, gate.runs) == ("succeeded", 1, [job.id])
