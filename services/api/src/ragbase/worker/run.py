"""One attempt as its handler sees it: a `JobRun`."""

from __future__ import annotations

import asyncio
from typing import Literal, TypeAlias

from ragbase.models.jobs import ClaimedJob
from ragbase.services.jobs_run import ClaimLostError, JobResult
from ragbase.storage import jobs_claim as store
from ragbase.storage.jobs_claim import Stand
from ragbase.storage.pool import Connection

__all__ = ["Run", "Stop"]

Stop: TypeAlias = Literal["cancelled", "lost", "shutdown"]
"""Why an attempt is stopped: on request, because another has the job, because we end."""


class Run:
    """Implements `ragbase.services.jobs_run.JobRun`; ``stop`` is the worker's side of it."""

    def __init__(self, job: ClaimedJob) -> None:
        self.job = job
        self.stand = Stand()
        self.news = asyncio.Event()
        """Set when ``stand`` has changed."""
        self.committed = False
        """Whether a transaction that ends the job was begun; it may still fail to commit."""
        self.stopped: Stop | None = None
        self._work: asyncio.Task[JobResult] | None = None

    def progress(self, stage: str, done: int = 0, total: int | None = None) -> None:
        """See `JobRun.progress`."""
        self.stand = Stand(stage, done, total)
        self.news.set()

    async def commit(
        self,
        connection: Connection,
        *,
        document_id: int | None = None,
        result: JobResult = None,
    ) -> None:
        """See `JobRun.commit`."""
        self.committed = True
        ended = await store.succeed(connection, self.job, document_id=document_id, result=result)
        if not ended:
            self.committed = False
            raise ClaimLostError

    def watch(self, work: asyncio.Task[JobResult]) -> None:
        """The task that `stop` ends."""
        self._work = work
        if self.stopped is not None:
            work.cancel()

    def stop(self, reason: Stop) -> None:
        """Interrupt the handler at its next ``await``; the first reason counts."""
        if self.stopped is None:
            self.stopped = reason
            if self._work is not None:
                self._work.cancel()
