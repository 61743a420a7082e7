"""`client.jobs`: work that the server does later."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Unpack

from ragbase.models.jobs import Job, JobKind, JobState
from ragbase.sdk import calls
from ragbase.sdk.options import DocumentOptions

if TYPE_CHECKING:
    from ragbase.sdk.asynchronous import AsyncClient
    from ragbase.sdk.client import Client

__all__ = ["AsyncJobs", "Jobs"]


class Jobs:
    """`client.jobs`."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def ingest(self, title: str, content: str, **options: Unpack[DocumentOptions]) -> Job:
        """Hand in a document; it is checked now and stored by the job."""
        return self._client.send(calls.ingest_later(title, content, options))

    def get(self, job_id: int, *, wait: int = 0) -> Job:
        """One job: once it has ended, or after ``wait`` seconds (at most 60)."""
        return self._client.send(calls.get_job(job_id, wait))

    def list(
        self,
        *,
        state: JobState | None = None,
        kind: JobKind | None = None,
        collection: str | None = None,
        offset: int = 0,
        limit: int = 20,
    ) -> builtins.list[Job]:
        """One page of jobs, newest first; ``limit`` is at most 100."""
        return self._client.send(calls.list_jobs(state, kind, collection, offset, limit))

    def cancel(self, job_id: int) -> Job:
        """End a queued job; a running one soon."""
        return self._client.send(calls.cancel_job(job_id))

    def retry(self, job_id: int) -> Job:
        """Queue a failed or cancelled job again."""
        return self._client.send(calls.retry_job(job_id))


class AsyncJobs:
    """`client.jobs`."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    async def ingest(self, title: str, content: str, **options: Unpack[DocumentOptions]) -> Job:
        """Hand in a document; it is checked now and stored by the job."""
        return await self._client.send(calls.ingest_later(title, content, options))

    async def get(self, job_id: int, *, wait: int = 0) -> Job:
        """One job: once it has ended, or after ``wait`` seconds (at most 60)."""
        return await self._client.send(calls.get_job(job_id, wait))

    async def list(
        self,
        *,
        state: JobState | None = None,
        kind: JobKind | None = None,
        collection: str | None = None,
        offset: int = 0,
        limit: int = 20,
    ) -> builtins.list[Job]:
        """One page of jobs, newest first; ``limit`` is at most 100."""
        return await self._client.send(calls.list_jobs(state, kind, collection, offset, limit))

    async def cancel(self, job_id: int) -> Job:
        """End a queued job; a running one soon."""
        return await self._client.send(calls.cancel_job(job_id))

    async def retry(self, job_id: int) -> Job:
        """Queue a failed or cancelled job again."""
        return await self._client.send(calls.retry_job(job_id))
