"""Leases: who holds a job, who may end it, and what becomes of one whose worker died."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ragbase.models.jobs import ClaimedJob
from ragbase.storage.jobs import JobDraft, cancel_job, get_job, insert_job
from ragbase.storage.jobs_claim import (
    Stand,
    claim_next,
    end_cancelled,
    fail,
    postpone,
    pulse,
    release,
    requeue_lost,
    succeed,
)
from ragbase.storage.jobs_upkeep import count_jobs, expire_jobs
from ragbase.storage.pool import Connection, Database


async def queue(connection: Connection, count: int = 1, **fields: Any) -> list[int]:
    draft = JobDraft(
        **{"kind": "ingest", "task": "ingest", "collection_id": 1, "payload": {}, **fields}
    )
    return [(await insert_job(connection, draft)).id for _ in range(count)]


async def claim(connection: Connection, worker: str = "w", lease_s: float = 30) -> ClaimedJob:
    job = await claim_next(connection, ["ingest"], worker=worker, lease_s=lease_s)
    assert job is not None
    return job


async def state_of(connection: Connection, job: ClaimedJob) -> str:
    found = await get_job(connection, job.id)
    assert found is not None
    return found.state


async def test_jobs_are_claimed_in_order_and_once(db: Database) -> None:
    async with db.acquire() as connection:
        ids = await queue(connection, 12)

    async def take() -> int:
        async with db.acquire() as connection:
            return (await claim(connection)).id

    assert sorted(await asyncio.gather(*(take() for _ in ids))) == ids
    async with db.acquire() as connection:
        assert await claim_next(connection, ["ingest"], worker="w", lease_s=1) is None


async def test_a_job_that_waits_for_its_next_attempt_is_passed_over(connection: Connection) -> None:
    await queue(connection, 2)
    first = await claim(connection)
    await postpone(connection, first, code="timeout", message="Slow.", seconds=60)
    assert (await claim(connection)).id != first.id
    assert await claim_next(connection, ["ingest"], worker="w", lease_s=1) is None


async def test_a_lease_that_ran_out_gives_the_job_to_another(connection: Connection) -> None:
    await queue(connection)
    lost = await claim(connection, "dead", lease_s=-1)
    assert await requeue_lost(connection) == [("ingest", "queued")]
    found = await claim(connection, "alive")
    assert (found.id, found.attempts) == (lost.id, 2)
    for change in (
        succeed(connection, lost),
        fail(connection, lost, code="x", message="x"),
        postpone(connection, lost, code="x", message="x", seconds=0),
        release(connection, lost),
        end_cancelled(connection, lost),
    ):
        assert not await change, "the dead worker's word counts no more"
    assert not (await pulse(connection, lost, Stand(), lease_s=30)).ours
    assert await state_of(connection, found) == "running"
    assert await succeed(connection, found)


async def test_the_same_worker_does_not_take_its_lost_job_for_the_new_one(
    connection: Connection,
) -> None:
    await queue(connection)
    before = await claim(connection, "w", lease_s=-1)
    await requeue_lost(connection)
    after = await claim(connection, "w")
    assert not await succeed(connection, before)
    assert await succeed(connection, after)


async def test_a_heartbeat_keeps_the_job(connection: Connection) -> None:
    await queue(connection)
    job = await claim(connection, lease_s=-1)
    assert (await pulse(connection, job, Stand("embed", 1, 2), lease_s=30)).ours
    assert await requeue_lost(connection) == []


async def test_a_job_that_kills_its_workers_fails_in_the_end(connection: Connection) -> None:
    await queue(connection, max_attempts=3)
    for _ in range(3):
        job = await claim(connection, lease_s=-1)
        await requeue_lost(connection)
        await connection.execute("UPDATE jobs SET run_after = now()")
    found = await get_job(connection, job.id)
    assert found is not None
    assert found.error is not None
    assert (found.state, found.error.code, found.attempts) == ("failed", "worker_lost", 3)


@pytest.mark.parametrize("end", ["postpone", "release", "lost", "fail"])
async def test_a_cancelled_job_is_not_queued_again(connection: Connection, end: str) -> None:
    await queue(connection)
    job = await claim(connection, lease_s=-1)
    assert await cancel_job(connection, job.id)
    assert not await succeed(connection, job)
    match end:
        case "postpone":
            await postpone(connection, job, code="x", message="x", seconds=1)
        case "release":
            await release(connection, job)
        case "fail":
            await fail(connection, job, code="x", message="x")
        case "lost":
            await requeue_lost(connection)
    assert await state_of(connection, job) == "cancelled"


async def test_success_names_the_document_unless_it_is_gone(connection: Connection) -> None:
    await queue(connection, 2)
    document_id = await connection.fetchval(
        "INSERT INTO documents (title, content) VALUES ('a', 'b') RETURNING id"
    )
    kept, gone = await claim(connection), await claim(connection)
    assert await succeed(connection, kept, document_id=document_id, result={"outcome": "created"})
    assert await succeed(connection, gone, document_id=document_id + 1)
    jobs = [await get_job(connection, job.id) for job in (kept, gone)]
    assert [job and job.document_id for job in jobs] == [document_id, None]
    await connection.execute("DELETE FROM documents")
    after = await get_job(connection, kept.id)
    assert after is not None
    assert (after.document_id, after.result) == (None, {"outcome": "created"})


async def test_old_jobs_expire_and_others_stay(connection: Connection) -> None:
    await queue(connection, 3)
    done, failed = await claim(connection), await claim(connection)
    await succeed(connection, done)
    await fail(connection, failed, code="x", message="x")
    await connection.execute(
        "UPDATE jobs SET finished_at = now() - interval '2 days' WHERE id = $1", done.id
    )
    assert await expire_jobs(connection, kept_s=86400) == 1
    states = {row[0] for row in await connection.fetch("SELECT state FROM jobs")}
    assert states == {"failed", "queued"}


async def test_jobs_are_counted_by_kind_and_state(connection: Connection) -> None:
    assert await count_jobs(connection) == []
    await queue(connection, 3)
    await queue(connection, kind="delete", task="delete")
    await succeed(connection, await claim(connection))
    await connection.execute(
        "UPDATE jobs SET created_at = now() - interval '1 minute' WHERE state = 'queued'"
    )
    counts = {(c.kind, c.state): c for c in await count_jobs(connection)}
    assert {key: count.count for key, count in counts.items()} == {
        ("ingest", "queued"): 2,
        ("ingest", "succeeded"): 1,
        ("delete", "queued"): 1,
    }
    assert 59 < counts["ingest", "queued"].oldest_s < 90
    assert counts["ingest", "succeeded"].oldest_s == 0
