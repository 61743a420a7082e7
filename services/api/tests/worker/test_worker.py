"""What a worker does with jobs, on a real queue."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ragbase.errors import (
    EmbedderUnavailableError,
    InvalidInputError,
    OverloadedError,
    RagBaseError,
)
from ragbase.models.jobs import Job
from ragbase.services.jobs_run import JobResult, JobRun
from ragbase.worker.worker import WorkerOptions


def waits_again(job: Job) -> bool:
    return job.state == "queued" and job.error is not None


async def test_a_job_is_done_and_forgets_what_it_was_to_do(bench: Any) -> None:
    seen: list[Any] = []

    async def handle(run: JobRun) -> JobResult:
        seen.append((run.job.payload, run.job.blob, run.job.collection, run.job.attempts))
        return {"answer": 42}

    await bench.worker({"ingest": handle})
    job = await bench.ended(await bench.submit({"a": [1]}, blob=b"bytes"))
    assert (job.state, job.result, job.attempts, job.error) == (
        "succeeded",
        {"answer": 42},
        1,
        None,
    )
    assert seen == [({"a": [1]}, b"bytes", "default", 1)]
    row = await bench.row(job)
    assert (row["payload"], row["blob"], row["worker"]) == (None, None, None)


async def test_tasks_of_another_version_are_left_alone(bench: Any, gate: Any) -> None:
    unknown = await bench.submit(task="from_the_future")
    gate.go.set()
    await bench.worker({"ingest": gate})
    await bench.ended(await bench.submit())
    assert (await bench.jobs.get(unknown.id)).state == "queued"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (EmbedderUnavailableError("The embedding server is away."), "embedder_unavailable"),
        (OverloadedError("Busy."), "overloaded"),
        (ZeroDivisionError("secret of another tenant"), "internal_error"),
    ],
)
async def test_what_may_heal_is_tried_again_later(bench: Any, error: Exception, code: str) -> None:
    async def handle(run: JobRun) -> JobResult:
        if run.job.attempts == 1:
            raise error
        return None

    await bench.worker({"ingest": handle}, WorkerOptions(poll_s=0.05))
    job = await bench.until(await bench.submit(), waits_again)
    assert (job.error.code, job.attempts, job.stage) == (code, 1, None)
    assert "secret" not in job.error.message
    row = await bench.row(job)
    assert 1 <= (row["run_after"] - row["started_at"]).total_seconds() <= 3
    await bench.execute("UPDATE jobs SET run_after = now()")
    job = await bench.ended(job)
    assert (job.state, job.attempts, job.error) == ("succeeded", 2, None)


async def test_what_cannot_heal_fails_at_once_and_keeps_the_payload(bench: Any) -> None:
    async def handle(run: JobRun) -> JobResult:
        raise InvalidInputError("content is blank.", code="blank", field="content")

    await bench.worker({"ingest": handle})
    job = await bench.ended(await bench.submit({"title": "x"}, blob=b"pdf"))
    assert (job.state, job.attempts) == ("failed", 1)
    assert (job.error.code, job.error.message) == ("blank", "content is blank.")
    row = await bench.row(job)
    assert (row["payload"], row["blob"]) == ({"title": "x"}, b"pdf")


async def test_attempts_are_bounded_and_a_retry_gives_them_all_back(bench: Any) -> None:
    healed = False

    async def handle(run: JobRun) -> JobResult:
        if not healed:
            raise EmbedderUnavailableError("The embedding server is away.")
        return None

    await bench.worker({"ingest": handle}, WorkerOptions(poll_s=0.05))
    job = await bench.submit()
    await bench.execute("UPDATE jobs SET max_attempts = 2")
    await bench.until(job, waits_again)
    await bench.execute("UPDATE jobs SET run_after = now()")
    job = await bench.ended(job)
    assert (job.state, job.attempts, job.error.code) == ("failed", 2, "embedder_unavailable")
    healed = True
    await bench.jobs.retry(job.id)
    job = await bench.ended(job)
    assert (job.state, job.attempts, job.error) == ("succeeded", 1, None)


async def test_progress_and_stage_reach_the_database(bench: Any, gate: Any) -> None:
    async def handle(run: JobRun) -> JobResult:
        run.progress("embed", 3, 9)
        return await gate(run)

    await bench.worker({"ingest": handle})
    job = await bench.until(await bench.submit(), lambda job: job.stage is not None)
    assert (job.state, job.stage, job.progress.done, job.progress.total) == (
        "running",
        "embed",
        3,
        9,
    )
    gate.go.set()
    await bench.ended(job)


async def test_a_queued_job_is_cancelled_at_once(bench: Any, gate: Any) -> None:
    gate.go.set()
    cancelled = await bench.submit()
    assert (await bench.jobs.cancel(cancelled.id)).state == "cancelled"
    await bench.worker({"ingest": gate})
    other = await bench.ended(await bench.submit())
    assert gate.runs == [other.id]


async def test_a_running_job_is_interrupted_when_it_is_cancelled(bench: Any, gate: Any) -> None:
    await bench.worker({"ingest": gate})
    job = await bench.submit()
    await gate.begun.wait()
    assert (await bench.jobs.cancel(job.id)).state == "running"
    job = await bench.ended(job, seconds=5)
    assert (job.state, gate.interrupted) == ("cancelled", [job.id])
    assert (await bench.row(job))["payload"] == {}, "it can be tried again"


async def test_without_signals_the_heartbeat_tells_of_a_cancelled_job(
    bench: Any, gate: Any
) -> None:
    await bench.worker({"ingest": gate}, WorkerOptions(lease_s=1.5, poll_s=0.1))
    job = await bench.submit()
    await gate.begun.wait()
    await bench.execute("UPDATE jobs SET cancel_requested = true WHERE id = $1", job.id)
    assert (await bench.ended(job)).state == "cancelled"


async def test_a_long_job_keeps_its_lease(bench: Any, gate: Any, eventually: Any) -> None:
    options = WorkerOptions(lease_s=1.2, poll_s=0.1)
    await bench.worker({"ingest": gate}, options)
    await bench.worker({"ingest": gate}, options)
    job = await bench.submit()
    await gate.begun.wait()
    before = (await bench.row(job))["lease_until"]

    async def renewed() -> bool:
        return ((await bench.row(job))["lease_until"] - before).total_seconds() > 2

    await eventually(renewed)
    gate.go.set()
    assert (await bench.ended(job)).attempts == 1
    assert gate.runs == [job.id]


async def test_a_worker_that_lost_its_job_stops_and_changes_nothing(bench: Any, gate: Any) -> None:
    await bench.worker({"ingest": gate}, WorkerOptions(lease_s=1.5, poll_s=60))
    job = await bench.submit()
    await gate.begun.wait()
    await bench.execute("UPDATE jobs SET claim = gen_random_uuid(), worker = 'another'")
    async with asyncio.timeout(10):
        await gate.interruption.wait()
    row = await bench.row(job)
    assert (row["state"], row["worker"]) == ("running", "another")


async def test_a_claim_that_was_lost_undoes_what_the_handler_stored(bench: Any) -> None:
    asked: list[asyncio.Task[Job]] = []

    async def handle(run: JobRun) -> JobResult:
        async with bench.database.transaction() as connection:
            await connection.execute("INSERT INTO collections (name) VALUES ('half')")
            # Another connection: the caller's wish comes while the transaction is open. A task of
            # its own: the worker may hear of the wish, and stop us, before its caller has an answer.
            asked.append(asyncio.create_task(bench.jobs.cancel(run.job.id)))
            await asyncio.wait(asked)
            await run.commit(connection)
        return None

    await bench.worker({"ingest": handle})
    job = await bench.ended(await bench.submit())
    assert (job.state, (await asked[0]).state) == ("cancelled", "running")
    async with bench.database.acquire() as connection:
        assert not await connection.fetchval("SELECT count(*) FROM collections WHERE name = 'half'")


async def test_two_workers_share_the_queue_and_do_each_job_once(bench: Any) -> None:
    done: list[int] = []

    async def handle(run: JobRun) -> JobResult:
        done.append(run.job.id)
        await asyncio.sleep(0)
        return None

    submitted = [await bench.submit() for _ in range(40)]
    options = WorkerOptions(concurrency=3)
    await bench.worker({"ingest": handle}, options)
    await bench.worker({"ingest": handle}, options)
    for job in submitted:
        assert (await bench.ended(job)).state == "succeeded"
    assert sorted(done) == [job.id for job in submitted]


async def test_no_more_jobs_at_once_than_there_are_places(
    bench: Any, gate: Any, eventually: Any
) -> None:
    await bench.worker({"ingest": gate}, WorkerOptions(concurrency=2, poll_s=0.05))
    submitted = [await bench.submit() for _ in range(4)]

    async def full() -> bool:
        return len(gate.runs) == 2

    await eventually(full)
    await asyncio.sleep(0.2)  # several polls
    states = [(await bench.jobs.get(job.id)).state for job in submitted]
    assert states == ["running", "running", "queued", "queued"]
    gate.go.set()
    for job in submitted:
        await bench.ended(job)


async def test_at_the_end_jobs_finish_within_the_grace_period(bench: Any, gate: Any) -> None:
    worker = await bench.worker({"ingest": gate})
    job, waiting = await bench.submit(), await bench.submit()
    await gate.begun.wait()
    stopping = asyncio.create_task(worker.stop())
    asyncio.get_running_loop().call_later(0.1, gate.go.set)
    await stopping
    assert (await bench.jobs.get(job.id)).state == "succeeded"
    assert (await bench.jobs.get(waiting.id)).state == "queued"


async def test_what_does_not_finish_goes_to_another_at_once(bench: Any, new_gate: Any) -> None:
    slow, quick = new_gate(), new_gate()
    quick.go.set()
    worker = await bench.worker({"ingest": slow}, WorkerOptions(grace_s=0.1))
    job = await bench.submit()
    await slow.begun.wait()
    await worker.stop()
    assert (await bench.jobs.get(job.id)).attempts == 0, "it was not the job's fault"
    await bench.worker({"ingest": quick})
    job = await bench.ended(job, seconds=5)
    assert (job.state, job.attempts, slow.interrupted) == ("succeeded", 1, [job.id])


async def test_deleting_the_collection_interrupts_its_job(bench: Any, gate: Any) -> None:
    await bench.worker({"ingest": gate}, WorkerOptions(lease_s=1.5))
    await bench.submit(collection="doomed")
    await gate.begun.wait()
    await bench.execute("DELETE FROM collections WHERE name = 'doomed'")
    async with asyncio.timeout(10):
        await gate.interruption.wait()


async def test_the_queue_has_a_bound(bench: Any) -> None:
    from ragbase.services.jobs import JobLimits, JobService

    jobs = JobService(bench.database, limits=JobLimits(per_collection=2, total=3))
    ours, theirs = await bench.collection(), await bench.collection("theirs")
    for _ in range(2):
        await jobs.submit("ingest", ours, {})
    with pytest.raises(OverloadedError, match="RAGBASE_MAX_QUEUED_PER_COLLECTION") as caught:
        await jobs.submit("ingest", ours, {})
    assert caught.value.retry_after > 0
    last = await jobs.submit("ingest", theirs, {})
    with pytest.raises(OverloadedError, match="RAGBASE_MAX_QUEUED"):
        await jobs.submit("ingest", theirs, {})
    await jobs.cancel(last.id)
    await jobs.submit("ingest", theirs, {})
    with pytest.raises(RagBaseError, match="RAGBASE_MAX_QUEUED"):
        await jobs.retry(last.id)
