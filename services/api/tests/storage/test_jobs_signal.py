"""Signals of jobs arrive, and what was missed while there was no connection is made up for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest_asyncio

from ragbase.storage.jobs import JobDraft, cancel_job, insert_job
from ragbase.storage.jobs_claim import claim_next
from ragbase.storage.jobs_signal import JobSignals
from ragbase.storage.pool import Connection

Heard = asyncio.Queue[str]


@pytest_asyncio.fixture
async def heard(database_url: str) -> AsyncIterator[Heard]:
    """What is heard on the database, from the first connection on."""
    queue: Heard = asyncio.Queue()
    task = asyncio.create_task(JobSignals(database_url, queue.put_nowait).run())
    assert await next_of(queue) == "queued"
    yield queue
    task.cancel()
    await asyncio.wait([task])


async def next_of(heard: Heard) -> str:
    async with asyncio.timeout(10):
        return await heard.get()


async def test_queued_and_cancelled_jobs_are_told(heard: Heard, connection: Connection) -> None:
    job = await insert_job(connection, JobDraft("ingest", "ingest", 1, {}))
    assert await next_of(heard) == "queued"
    await claim_next(connection, ["ingest"], worker="w", lease_s=30)
    await cancel_job(connection, job.id)
    assert await next_of(heard) == f"cancel {job.id}"
    assert heard.empty()


async def test_a_lost_connection_is_made_again(heard: Heard, connection: Connection) -> None:
    ended = await connection.fetch(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE application_name = 'ragbase-jobs' AND datname = current_database()"
    )
    assert len(ended) == 1
    assert await next_of(heard) == "queued", "jobs may have come meanwhile"
    await insert_job(connection, JobDraft("ingest", "ingest", 1, {}))
    assert await next_of(heard) == "queued"
