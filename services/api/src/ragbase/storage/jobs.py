"""Rows of ``jobs`` as those see them who ask for work; `jobs_claim` holds the worker's side.

The table is the queue. A job's place in it is its ``tag`` (start-time fair queueing: Goyal, Vin,
Cheng, SIGCOMM 1996): one more than the larger of the collection's last waiting tag and the virtual
time, which is the largest tag that was ever claimed. The smallest tag is served first, so a
collection with 10,000 waiting jobs delays another's single one by one job. Jobs that follow stored
documents (kinds graph, context, project) are claimed apart and have tags of their own.

Functions take ``collections``, the names the caller may see (None: all of them). What lies
outside does not exist.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import asyncpg

from ragbase.errors import NotFoundError
from ragbase.models.jobs import Job, JobError, JobKind, JobState, Progress
from ragbase.storage.pool import Connection

__all__ = [
    "CHANNEL",
    "JobDraft",
    "Waiting",
    "cancel_job",
    "collection_of",
    "count_waiting",
    "get_job",
    "insert_job",
    "job_not_found",
    "list_jobs",
    "retry_job",
]

CHANNEL = "ragbase_jobs"
"""Notifications: the word ``queued``, or ``cancel`` and a job's id."""
_MAX_ID = 2**63 - 1

_SELECT = """
    SELECT j.id, j.kind, j.state, j.stage, j.done, j.total, j.attempts, j.error_code,
        j.error_message, j.document_id, k.name AS collection, j.result, j.created_at,
        j.started_at, j.finished_at
    FROM jobs j LEFT JOIN collections k ON k.id = j.collection_id
"""
_NEXT_TAG = """
    1 + greatest(
        (SELECT max(tag) FROM jobs WHERE started_at IS NOT NULL),
        (SELECT min(tag) - 1 FROM jobs WHERE state = 'queued'),
        (SELECT max(tag) FROM jobs
            WHERE coalesce(collection_id, 0) = coalesce(COLLECTION, 0)
            AND state IN ('queued', 'running') AND (kind IN SIDE) = (KIND IN SIDE)),
        0
    )
""".replace("SIDE", "('graph', 'context', 'project')")
"""The smallest waiting tag keeps the time from falling back when served jobs have expired."""
_INSERT = """
    INSERT INTO jobs (kind, task, collection_id, payload, blob, document_id, key_id, max_attempts, tag)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, NEXT_TAG) RETURNING id
""".replace("NEXT_TAG", _NEXT_TAG.replace("COLLECTION", "$3::bigint").replace("KIND", "$1::text"))
_RETRY = """
    UPDATE jobs AS old SET state = 'queued', attempts = 0, stage = NULL, done = 0, total = NULL,
        cancel_requested = false, run_after = now(), started_at = NULL, finished_at = NULL,
        tag = NEXT_TAG
    WHERE id = $1 AND state IN ('failed', 'cancelled') AND payload IS NOT NULL RETURNING true
""".replace(
    "NEXT_TAG", _NEXT_TAG.replace("COLLECTION", "old.collection_id").replace("KIND", "old.kind")
)


@dataclass(frozen=True, slots=True)
class JobDraft:
    """A job to queue: ``payload`` and ``blob`` are what its handler, named ``task``, reads."""

    kind: JobKind
    task: str
    collection_id: int | None
    payload: Mapping[str, Any]
    blob: bytes | None = None
    document_id: int | None = None
    key_id: str | None = None
    max_attempts: int = 10


@dataclass(frozen=True, slots=True)
class Waiting:
    """Queued jobs: of one collection, and of all."""

    collection: int
    total: int


def job_not_found() -> NotFoundError:
    """The one answer for a job that is not there (or may not be seen)."""
    return NotFoundError("Job not found", code="job_not_found")


async def insert_job(connection: Connection, draft: JobDraft) -> Job:
    """Queue a job; workers hear of it when the transaction commits.

    Raises `NotFoundError` when the collection or the document is gone.
    """
    try:
        job_id = await connection.fetchval(
            _INSERT,
            draft.kind,
            draft.task,
            draft.collection_id,
            dict(draft.payload),
            draft.blob,
            draft.document_id,
            draft.key_id,
            draft.max_attempts,
        )
    except asyncpg.ForeignKeyViolationError as error:
        if error.constraint_name == "jobs_document_id_fkey":
            raise NotFoundError("Document not found", code="document_not_found") from error
        raise NotFoundError("The collection is gone.", code="collection_not_found") from error
    await _notify(connection, "queued")
    return await _read(connection, job_id)


async def count_waiting(connection: Connection, collection_id: int | None) -> Waiting:
    """How long the queue is, but for jobs that follow a stored document: they are no more than
    there are documents, and refusing them would leave a document half done.
    """
    row = await connection.fetchrow(
        """
        SELECT count(*) FILTER (WHERE coalesce(collection_id, 0) = coalesce($1::bigint, 0)), count(*)
        FROM jobs WHERE state = 'queued' AND kind NOT IN ('graph', 'context', 'project')
        """,
        collection_id,
    )
    assert row is not None
    return Waiting(*row)


async def get_job(
    connection: Connection, job_id: int, collections: Sequence[str] | None = None
) -> Job | None:
    """One job."""
    if not 0 < job_id <= _MAX_ID:
        return None
    row = await connection.fetchrow(
        f"{_SELECT} WHERE j.id = $1 AND ($2::text[] IS NULL OR k.name = ANY($2))",
        job_id,
        collections,
    )
    return None if row is None else _job(row)


async def list_jobs(
    connection: Connection,
    *,
    offset: int,
    limit: int,
    collections: Sequence[str] | None = None,
    state: JobState | None = None,
    kind: JobKind | None = None,
) -> tuple[list[Job], int]:
    """A page of jobs, newest first, and how many there are."""
    wanted = """
        ($1::text[] IS NULL OR k.name = ANY($1)) AND ($2::text IS NULL OR j.state = $2)
        AND ($3::text IS NULL OR j.kind = $3)
    """
    total: int = await connection.fetchval(
        f"SELECT count(*) FROM jobs j LEFT JOIN collections k ON k.id = j.collection_id WHERE {wanted}",  # noqa: S608 - no value in it
        collections,
        state,
        kind,
    )
    rows = await connection.fetch(
        f"{_SELECT} WHERE {wanted} ORDER BY j.id DESC OFFSET $4 LIMIT $5",
        collections,
        state,
        kind,
        min(offset, _MAX_ID),
        limit,
    )
    return [_job(row) for row in rows], total


async def collection_of(connection: Connection, job_id: int) -> int | None:
    """Id of a job's collection; None where it has none."""
    found: int | None = await connection.fetchval(
        "SELECT collection_id FROM jobs WHERE id = $1", job_id
    )
    return found


async def cancel_job(connection: Connection, job_id: int) -> bool:
    """End a queued job, ask a running one's worker to stop; False when it has ended already."""
    state = await connection.fetchval(
        """
        UPDATE jobs SET
            cancel_requested = true,
            state = CASE state WHEN 'queued' THEN 'cancelled' ELSE state END,
            finished_at = CASE state WHEN 'queued' THEN now() END
        WHERE id = $1 AND state IN ('queued', 'running') RETURNING state
        """,
        job_id,
    )
    if state == "running":
        await _notify(connection, f"cancel {job_id}")
    return state is not None


async def retry_job(connection: Connection, job_id: int) -> bool:
    """Queue a failed or cancelled job again, at the end; False when it is neither."""
    found = await connection.fetchval(_RETRY, job_id)
    if found:
        await _notify(connection, "queued")
    return bool(found)


async def _notify(connection: Connection, message: str) -> None:
    await connection.execute("SELECT pg_notify($1, $2)", CHANNEL, message)


async def _read(connection: Connection, job_id: int) -> Job:
    job = await get_job(connection, job_id)
    assert job is not None, "read in the transaction that wrote it"
    return job


def _job(row: asyncpg.Record) -> Job:
    code = row["error_code"]
    return Job(
        id=row["id"],
        kind=row["kind"],
        state=row["state"],
        stage=row["stage"],
        progress=Progress(done=row["done"], total=row["total"]),
        attempts=row["attempts"],
        error=None if code is None else JobError(code=code, message=row["error_message"]),
        document_id=row["document_id"],
        collection=row["collection"],
        result=row["result"],
        created_at=row["created_at"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
    )
