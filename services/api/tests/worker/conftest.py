"""Workers on a real database whose handlers do as the test says."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import pytest_asyncio

from ragbase.models.domain import Collection
from ragbase.models.jobs import Job, JobKind
from ragbase.services.jobs import JobService
from ragbase.services.jobs_run import Handler, JobResult, JobRun
from ragbase.storage.collections import create_collection, get_collection
from ragbase.storage.pool import Database
from ragbase.worker.worker import Worker, WorkerOptions

from ..eventually import eventually

FAST = WorkerOptions(lease_s=30, poll_s=10, grace_s=5)
"""Signals wake a worker at once, so a poll that matters would show as a slow test."""


@dataclass
class Gate:
    """A handler that tells when it has begun, and ends when it may."""

    begun: asyncio.Event = field(default_factory=asyncio.Event)
    go: asyncio.Event = field(default_factory=asyncio.Event)
    runs: list[int] = field(default_factory=list)
    interrupted: list[int] = field(default_factory=list)
    interruption: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, run: JobRun) -> JobResult:
        self.runs.append(run.job.id)
        self.begun.set()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.interrupted.append(run.job.id)
            self.interruption.set()
            raise
        return {"gone": True}


@dataclass
class Bench:
    """A database, the jobs in it, and workers to put on them."""

    database: Database
    url: str
    jobs: JobService
    stack: AsyncExitStack

    async def collection(self, name: str = "default") -> Collection:
        async with self.database.acquire() as connection:
            found = await get_collection(connection, name)
            return found or await create_collection(connection, name)

    async def submit(
        self,
        payload: Mapping[str, Any] | None = None,
        *,
        kind: JobKind = "ingest",
        collection: str = "default",
        task: str | None = None,
        blob: bytes | None = None,
    ) -> Job:
        where = await self.collection(collection)
        return await self.jobs.submit(kind, where, payload or {}, blob, task=task)

    async def worker(
        self, handlers: Mapping[str, Handler], options: WorkerOptions = FAST
    ) -> Worker:
        """A started worker; it is stopped at the end of the test."""
        worker = Worker(self.database, handlers, dsn=self.url, options=options)
        worker.start()
        self.stack.push_async_callback(worker.stop)
        return worker

    async def ended(self, job: Job, seconds: float = 20) -> Job:
        """The job once it has ended."""
        found = await self.jobs.wait(job.id, seconds)
        assert found.ended, found
        return found

    async def until(self, job: Job, what: Callable[[Job], bool], seconds: float = 20) -> Job:
        """The job once it is as wanted."""

        async def as_wanted() -> bool:
            return what(await self.jobs.get(job.id))

        await eventually(as_wanted, seconds)
        return await self.jobs.get(job.id)

    async def row(self, job: Job) -> dict[str, Any]:
        """What is stored."""
        async with self.database.acquire() as connection:
            found = await connection.fetchrow("SELECT * FROM jobs WHERE id = $1", job.id)
        assert found is not None
        return dict(found)

    async def execute(self, statement: str, *values: Any) -> None:
        async with self.database.acquire() as connection:
            await connection.execute(statement, *values)


@asynccontextmanager
async def open_bench(url: str) -> AsyncIterator[Bench]:
    async with (
        await Database.open(url, min_size=0, max_size=10) as database,
        AsyncExitStack() as stack,
    ):
        yield Bench(database, url, JobService(database), stack)


@pytest_asyncio.fixture
async def bench(database_url: str) -> AsyncIterator[Bench]:
    async with open_bench(database_url) as bench:
        yield bench


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def new_gate() -> type[Gate]:
    return Gate


@pytest.fixture(name="eventually")
def eventually_() -> Callable[..., Awaitable[None]]:
    return eventually


@pytest.fixture
def bench_on() -> Callable[[str], Any]:
    return open_bench


@pytest.fixture
def unused_port() -> int:
    """A port that was free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port
