"""Claims jobs and does them, as many at a time as it has places."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from ragbase.errors import RagBaseError
from ragbase.models.jobs import ClaimedJob
from ragbase.services.background import end
from ragbase.services.jobs_run import Handler
from ragbase.storage.jobs_claim import claim_next, release
from ragbase.storage.jobs_signal import JobSignals
from ragbase.storage.pool import Database
from ragbase.telemetry.logs import get_logger
from ragbase.worker.attempt import attempt
from ragbase.worker.run import Run
from ragbase.worker.sweep import Sweep

__all__ = ["SIDE_TASKS", "Worker", "WorkerOptions"]

SIDE_TASKS = frozenset({"graph", "context", "project"})
"""Follow what is stored and searched already, and may wait long for a language model or a graph
store: they have places of their own, so that they never keep a document from being stored."""
_GIVE_BACK_S = 5.0
"""Jobs that cannot be given back in this time are left to their lease."""

_log = get_logger("ragbase.worker")


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """How a worker works; times in seconds."""

    concurrency: int = 1
    """Jobs done at once, but for `SIDE_TASKS`."""
    side_concurrency: int = 1
    """`SIDE_TASKS` done at once, beside the others."""
    lease_s: float = 30.0
    """A job whose worker has not been heard of for so long is another's."""
    poll_s: float = 5.0
    """Longest wait for a job that no signal told of."""
    grace_s: float = 10.0
    """At the end jobs under way get so long to finish; the rest goes back into the queue."""
    kept_s: float = 7 * 24 * 3600.0
    """Ended jobs are kept so long."""


class Worker:
    """A worker inside this process. `start`, then `stop`."""

    def __init__(
        self,
        database: Database,
        handlers: Mapping[str, Handler],
        *,
        dsn: str,
        options: WorkerOptions = WorkerOptions(),
    ) -> None:
        self._database = database
        self._handlers = handlers
        self._options = options
        self._signals = JobSignals(dsn, self._hear)
        self._sweep = Sweep(database, every_s=options.lease_s / 2, kept_s=options.kept_s)
        self._name = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(3)}"
        self._wake = asyncio.Event()
        self._stopping = False
        self._away = False
        self._running: dict[asyncio.Task[None], Run] = {}
        self._loop: asyncio.Task[None] | None = None
        self._helpers: list[asyncio.Task[None]] = []
        self._seen_alive = time.monotonic()

    def start(self) -> None:
        """Begin to claim."""
        _log.info("worker_started", worker=self._name, concurrency=self._options.concurrency)
        self._loop = asyncio.create_task(self._claim_until_stopped())
        self._helpers = [
            asyncio.create_task(self._signals.run()),
            asyncio.create_task(self._sweep.forever()),
        ]

    async def stop(self) -> None:
        """Claim nothing more, let jobs finish within the grace period, give the others back."""
        self._stopping = True
        self._wake.set()
        if self._loop is not None:
            await self._loop
        if self._running:
            await asyncio.wait(list(self._running), timeout=self._options.grace_s)
        for run in list(self._running.values()):
            run.stop("shutdown")
        if self._running:
            await asyncio.wait(list(self._running), timeout=_GIVE_BACK_S)
        await end([*self._running, *self._helpers])
        _log.info("worker_stopped", worker=self._name)

    @property
    def silence_s(self) -> float:
        """Seconds since the claiming loop last came round; grows without end once it is dead."""
        return time.monotonic() - self._seen_alive

    async def _claim_until_stopped(self) -> None:
        while not self._stopping:
            self._seen_alive = time.monotonic()
            self._wake.clear()
            tasks = self._tasks_with_room()
            job = await self._claim(tasks) if tasks else None
            if job is not None:
                await self._begin(job)
                continue
            try:
                async with asyncio.timeout(self._options.poll_s):
                    await self._wake.wait()
            except TimeoutError:
                pass

    def _tasks_with_room(self) -> list[str]:
        """What may be claimed now."""
        side = sum(run.job.task in SIDE_TASKS for run in self._running.values())
        room = len(self._running) - side < self._options.concurrency
        side_room = side < self._options.side_concurrency
        return [task for task in self._handlers if (side_room if task in SIDE_TASKS else room)]

    async def _claim(self, tasks: list[str]) -> ClaimedJob | None:
        try:
            async with self._database.acquire() as connection:
                job = await claim_next(
                    connection,
                    tasks,
                    worker=self._name,
                    lease_s=self._options.lease_s,
                )
        except RagBaseError as error:
            self._say_away(error.code)
            return None
        except Exception as error:  # noqa: BLE001 - a worker outlives what one statement meets
            _log.error("job_claim_failed", exc_info=error)
            return None
        self._away = False
        return job

    def _say_away(self, code: str) -> None:
        if not self._away:
            _log.warning("worker_waits_for_the_database", code=code)
        self._away = True

    async def _begin(self, job: ClaimedJob) -> None:
        if self._stopping:  # the end came while the claim was under way
            with suppress(RagBaseError):  # the lease runs out by itself
                async with self._database.acquire() as connection:
                    await release(connection, job)
            return
        run = Run(job)
        task = asyncio.create_task(self._do(run))
        self._running[task] = run
        task.add_done_callback(self._ended)

    async def _do(self, run: Run) -> None:
        again_s = await attempt(
            self._database, run, self._handlers[run.job.task], lease_s=self._options.lease_s
        )
        if again_s is not None:
            asyncio.get_running_loop().call_later(again_s, self._wake.set)

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._running[task]
        self._wake.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("job_attempt_broke", exc_info=error)

    def _hear(self, message: str) -> None:
        word, _, job_id = message.partition(" ")
        if word == "queued":
            self._wake.set()
        for run in self._running.values():
            if word == "cancel" and str(run.job.id) == job_id:
                run.stop("cancelled")
