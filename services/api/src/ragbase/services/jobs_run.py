"""What the handler of a job is given: what to do, how to tell of it, and how to end it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, TypeAlias

from ragbase.models.jobs import ClaimedJob
from ragbase.storage.pool import Connection

__all__ = ["ClaimLostError", "Handler", "JobResult", "JobRun"]

JobResult: TypeAlias = Mapping[str, Any] | None
"""Shown as the job's ``result``; JSON."""


class ClaimLostError(Exception):
    """The job was cancelled, or its lease ran out and another worker may have it."""


class JobRun(Protocol):
    """One attempt at one job."""

    @property
    def job(self) -> ClaimedJob:
        """What to do: ``job.payload``, ``job.blob``, ``job.collection``, ``job.document_id``."""

    def progress(self, stage: str, done: int = 0, total: int | None = None) -> None:
        """Say where the work stands; costs nothing, and reaches the database at most once a second."""

    async def commit(
        self,
        connection: Connection,
        *,
        document_id: int | None = None,
        result: JobResult = None,
    ) -> None:
        """Mark the job succeeded, as the last statement of the transaction that stores its work.

        Raises `ClaimLostError` when the job is cancelled or another worker's by now: let it pass,
        so that the transaction is undone.
        """


Handler: TypeAlias = Callable[[JobRun], Awaitable[JobResult]]
"""Does a job. One that has not called `JobRun.commit` is marked succeeded with what it returns.

`RagBaseError` of the 4xx kind fails the job at once, other errors are tried again. A cancelled job's
handler is cancelled as any asyncio task is: it gets `asyncio.CancelledError` at its next ``await``.
"""
