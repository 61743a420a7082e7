"""Jobs in the hands of workers: claim, lease, end.

Every change names the ``claim`` that its worker was given; a worker whose lease ran out and whose
job another has taken changes nothing. A lease that ran out is found by `requeue_lost`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from ragbase.models.jobs import ClaimedJob, JobState
from ragbase.storage.jobs import CHANNEL
from ragbase.storage.pool import Connection

__all__ = [
    "Pulse",
    "Stand",
    "claim_next",
    "end_cancelled",
    "fail",
    "postpone",
    "pulse",
    "release",
    "requeue_lost",
    "succeed",
]

_CLAIM = """
    WITH next AS MATERIALIZED (
        SELECT id FROM jobs
        WHERE state = 'queued' AND run_after <= now() AND task = ANY($1::text[])
        ORDER BY tag, id LIMIT 1 FOR UPDATE SKIP LOCKED
    ), claimed AS (
        UPDATE jobs j SET
            state = 'running', claim = gen_random_uuid(), worker = $2, lease_until = now() + $3,
            attempts = attempts + 1, started_at = coalesce(started_at, now()),
            stage = NULL, done = 0, total = NULL
        FROM next WHERE j.id = next.id
        RETURNING j.id, j.kind, j.task, j.claim, j.attempts, j.max_attempts, j.collection_id,
            j.document_id, j.payload, j.blob, j.created_at
    )
    SELECT c.id, c.kind, c.task, c.claim, c.attempts, c.max_attempts, k.name, c.document_id,
        c.payload, c.blob, c.created_at
    FROM claimed c LEFT JOIN collections k ON k.id = c.collection_id
"""
"""Columns in the order of `ClaimedJob`'s fields."""
_MINE = "id = $1 AND claim = $2 AND state = 'running'"
_LET_GO = "claim = NULL, worker = NULL, lease_until = NULL, stage = NULL"


@dataclass(frozen=True, slots=True)
class Stand:
    """Where the work on a job stands."""

    stage: str | None = None
    done: int = 0
    total: int | None = None


@dataclass(frozen=True, slots=True)
class Pulse:
    """What a heartbeat learns."""

    ours: bool
    cancelled: bool = False


async def claim_next(
    connection: Connection, tasks: Sequence[str], *, worker: str, lease_s: float
) -> ClaimedJob | None:
    """Take the job whose turn it is, of those whose task is one of ``tasks``."""
    row = await connection.fetchrow(_CLAIM, list(tasks), worker, timedelta(seconds=lease_s))
    return None if row is None else ClaimedJob(*row)


async def pulse(connection: Connection, job: ClaimedJob, stand: Stand, *, lease_s: float) -> Pulse:
    """Renew the lease and write how far the work is."""
    cancelled = await connection.fetchval(
        f"UPDATE jobs SET lease_until = now() + $3, stage = $4, done = $5, total = $6 "  # noqa: S608 - no value in it
        f"WHERE {_MINE} RETURNING cancel_requested",
        job.id,
        job.claim,
        timedelta(seconds=lease_s),
        stand.stage,
        stand.done,
        stand.total,
    )
    return Pulse(ours=cancelled is not None, cancelled=bool(cancelled))


async def succeed(
    connection: Connection,
    job: ClaimedJob,
    *,
    document_id: int | None = None,
    result: Mapping[str, Any] | None = None,
) -> bool:
    """Mark the job done and forget what it was to do; False when it is not ours, or cancelled."""
    done = await connection.fetchval(
        f"""
        UPDATE jobs SET state = 'succeeded', finished_at = now(), {_LET_GO}, payload = NULL,
            blob = NULL, error_code = NULL, error_message = NULL, result = $4,
            document_id = coalesce(
                (SELECT d.id FROM documents d WHERE d.id = $3 FOR KEY SHARE), document_id
            )
        WHERE {_MINE} AND NOT cancel_requested RETURNING true
        """,  # noqa: S608 - no value in it
        job.id,
        job.claim,
        document_id,
        None if result is None else dict(result),
    )
    return bool(done)


async def end_cancelled(connection: Connection, job: ClaimedJob) -> bool:
    """End a job whose cancelling was asked for; False when it was not, or the job is not ours."""
    ended = await connection.fetchval(
        f"UPDATE jobs SET state = 'cancelled', finished_at = now(), {_LET_GO} "  # noqa: S608 - no value in it
        f"WHERE {_MINE} AND cancel_requested RETURNING true",
        job.id,
        job.claim,
    )
    return bool(ended)


async def fail(
    connection: Connection, job: ClaimedJob, *, code: str, message: str
) -> JobState | None:
    """Give the job up, or end it as cancelled; its state then, None when it is not ours."""
    state: JobState | None = await connection.fetchval(
        f"""
        UPDATE jobs SET finished_at = now(), {_LET_GO}, error_code = $3, error_message = $4,
            state = CASE WHEN cancel_requested THEN 'cancelled' ELSE 'failed' END
        WHERE {_MINE} RETURNING state
        """,  # noqa: S608 - no value in it
        job.id,
        job.claim,
        code,
        message,
    )
    return state


async def postpone(
    connection: Connection, job: ClaimedJob, *, code: str, message: str, seconds: float
) -> JobState | None:
    """Queue the job for another attempt after ``seconds``; see `fail`."""
    state: JobState | None = await connection.fetchval(
        f"""
        UPDATE jobs SET {_LET_GO}, error_code = $3, error_message = $4, run_after = now() + $5,
            state = CASE WHEN cancel_requested THEN 'cancelled' ELSE 'queued' END,
            finished_at = CASE WHEN cancel_requested THEN now() END
        WHERE {_MINE} RETURNING state
        """,  # noqa: S608 - no value in it
        job.id,
        job.claim,
        code,
        message,
        timedelta(seconds=seconds),
    )
    return state


async def release(connection: Connection, job: ClaimedJob) -> JobState | None:
    """Give the job back as if it had not been begun, for another worker to take at once."""
    state: JobState | None = await connection.fetchval(
        f"""
        UPDATE jobs SET {_LET_GO}, attempts = attempts - 1, done = 0, total = NULL,
            state = CASE WHEN cancel_requested THEN 'cancelled' ELSE 'queued' END,
            finished_at = CASE WHEN cancel_requested THEN now() END
        WHERE {_MINE} RETURNING state
        """,  # noqa: S608 - no value in it
        job.id,
        job.claim,
    )
    if state == "queued":
        await connection.execute("SELECT pg_notify($1, 'queued')", CHANNEL)
    return state


_LOST = f"""
    UPDATE jobs SET {_LET_GO},
        state = CASE WHEN cancel_requested THEN 'cancelled'
            WHEN attempts < max_attempts THEN 'queued' ELSE 'failed' END,
        finished_at = CASE WHEN cancel_requested OR attempts >= max_attempts THEN now() END,
        error_code = 'worker_lost',
        error_message = 'The worker ended in the middle of the job.',
        run_after = now() + make_interval(secs => least(60, power(2, attempts - 1) - 1) * random())
    WHERE id IN (
        SELECT id FROM jobs WHERE state = 'running' AND lease_until < now() FOR UPDATE SKIP LOCKED
    )
    RETURNING kind, state
"""  # noqa: S608 - no value in it
"""A job that kills its workers comes round ever more slowly, and fails in the end."""


async def requeue_lost(connection: Connection) -> list[tuple[str, JobState]]:
    """Take jobs from workers whose lease ran out; kind and new state of each."""
    rows = await connection.fetch(_LOST)
    if any(row["state"] == "queued" for row in rows):
        await connection.execute("SELECT pg_notify($1, 'queued')", CHANNEL)
    return [(row["kind"], row["state"]) for row in rows]
