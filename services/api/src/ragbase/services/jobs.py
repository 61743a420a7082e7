"""Jobs: work that is accepted now and done by a worker.

`JobService.submit` queues; a worker (`ragbase.worker`) claims the job and calls the handler that is
registered under the job's ``task``. To add a kind of work:

1. Write a handler: ``async def handle(run: JobRun) -> dict | None`` (`services/jobs_run.py` says
   what a `JobRun` offers: the payload, the blob, stage and progress, ``commit``).
2. Register it in `ragbase.worker.handlers.handlers` under the task's name.
3. Submit with that name: ``await jobs.submit("ingest", collection, payload, blob, task="upload")``.
   Left out, ``task`` is the kind.

A handler may run more than once: its worker may be killed at any moment. What it stores it stores
in one transaction that ends with ``await run.commit(connection, …)``; that marks the job done, or
raises because the job was cancelled or belongs to another worker by now, and nothing is stored.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from ragbase.errors import ConflictError, OverloadedError
from ragbase.models.access import FULL_ACCESS, Access
from ragbase.models.domain import Collection
from ragbase.models.jobs import Job, JobKind, JobState
from ragbase.services.collections import collection_not_found
from ragbase.storage import jobs as store
from ragbase.storage.collections import get_collection
from ragbase.storage.pool import Connection, Database

__all__ = ["JobLimits", "JobService"]

_FIRST_LOOK_S = 0.05
_LONGEST_LOOK_S = 1.0
_FULL_RETRY_S = 10.0


@dataclass(frozen=True, slots=True)
class JobLimits:
    """Bounds of the queue."""

    per_collection: int = 10_000
    total: int = 100_000
    attempts: int = 10
    """Of each job, before it has failed for good."""


class JobService:
    """Queues jobs, and shows and steers those that ``access`` sees."""

    def __init__(
        self,
        database: Database,
        *,
        limits: JobLimits = JobLimits(),
        access: Access = FULL_ACCESS,
    ) -> None:
        self._database = database
        self._limits = limits
        self._access = access

    def seen_by(self, access: Access) -> Self:
        """The same, for another caller."""
        bound = copy.copy(self)
        bound._access = access
        return bound

    async def submit(
        self,
        kind: JobKind,
        collection: Collection | None,
        payload: Mapping[str, Any],
        blob: bytes | None = None,
        *,
        task: str | None = None,
        document_id: int | None = None,
    ) -> Job:
        """Queue a job. What the caller may do, and whether the payload is sound, is checked before.

        ``payload`` is JSON without NUL characters; ``blob`` may be as large as an upload.
        Raises `OverloadedError` when the queue is full.
        """
        draft = store.JobDraft(
            kind=kind,
            task=task or kind,
            collection_id=None if collection is None else collection.id,
            payload=payload,
            blob=blob,
            document_id=document_id,
            key_id=self._access.key_id,
            max_attempts=self._limits.attempts,
        )
        async with self._database.transaction() as connection:
            await self._refuse_when_full(connection, draft.collection_id)
            return await store.insert_job(connection, draft)

    async def get(self, job_id: int) -> Job:
        """One job. Raises `NotFoundError`."""
        async with self._database.read() as connection:
            return await self._read(connection, job_id)

    async def page(
        self,
        *,
        offset: int,
        limit: int,
        state: JobState | None = None,
        kind: JobKind | None = None,
        collection: str | None = None,
    ) -> tuple[list[Job], int]:
        """Newest first, and how many there are (of one collection).

        Raises `NotFoundError` for a collection that is not there, or may not be seen.
        """
        names = self._access.visible() if collection is None else [collection]
        async with self._database.read() as connection:
            if collection is not None:
                await self._check_collection(connection, collection)
            return await store.list_jobs(
                connection, offset=offset, limit=limit, collections=names, state=state, kind=kind
            )

    async def wait(self, job_id: int, seconds: float) -> Job:
        """The job once it has ended, or as it stands after ``seconds``."""
        loop = asyncio.get_running_loop()
        deadline, pause = loop.time() + seconds, _FIRST_LOOK_S
        while not (job := await self.get(job_id)).ended and loop.time() < deadline:
            await asyncio.sleep(min(pause, max(0.0, deadline - loop.time())))
            pause = min(1.5 * pause, _LONGEST_LOOK_S)
        return job

    async def cancel(self, job_id: int) -> Job:
        """End a queued job now; a running one ends soon, and stores nothing more.

        A cancelled job stays so. Raises `NotFoundError`, `ConflictError` when it has ended
        otherwise.
        """
        async with self._database.transaction() as connection:
            await self._read(connection, job_id)
            if await store.cancel_job(connection, job_id):
                return await self._read(connection, job_id)
            job = await self._read(connection, job_id)
        if job.state == "cancelled":
            return job
        raise ConflictError(f"The job has {job.state} already.", code="job_ended")

    async def retry(self, job_id: int) -> Job:
        """Queue a failed or cancelled job again, with all its attempts.

        Raises `NotFoundError`, `ConflictError` when it is in another state, `OverloadedError`.
        """
        async with self._database.transaction() as connection:
            job = await self._read(connection, job_id)
            await self._refuse_when_full(connection, await store.collection_of(connection, job_id))
            if await store.retry_job(connection, job_id):
                return await self._read(connection, job_id)
        raise ConflictError(
            f"Only failed and cancelled jobs can be tried again; this one is {job.state}.",
            code="job_not_ended" if not job.ended else "job_succeeded",
        )

    async def _read(self, connection: Connection, job_id: int) -> Job:
        job = await store.get_job(connection, job_id, self._access.visible())
        if job is None:
            raise store.job_not_found()
        return job

    async def _check_collection(self, connection: Connection, name: str) -> None:
        if not self._access.sees(name) or await get_collection(connection, name) is None:
            raise collection_not_found(name)

    async def _refuse_when_full(self, connection: Connection, collection_id: int | None) -> None:
        """Concurrent callers may pass together: the bound is soft by as many as there are."""
        waiting = await store.count_waiting(connection, collection_id)
        if waiting.collection >= self._limits.per_collection:
            raise OverloadedError(
                f"{waiting.collection} jobs of this collection wait already "
                "(RAGBASE_MAX_QUEUED_PER_COLLECTION); try again later.",
                retry_after=_FULL_RETRY_S,
            )
        if waiting.total >= self._limits.total:
            raise OverloadedError(
                "The queue of jobs is full (RAGBASE_MAX_QUEUED); try again later.",
                retry_after=_FULL_RETRY_S,
            )
