"""Fair turns: no collection waits for more than its share, whatever the others queue."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragbase.models.domain import Collection
from ragbase.storage.collections import create_collection
from ragbase.storage.jobs import JobDraft, cancel_job, insert_job, retry_job
from ragbase.storage.jobs_claim import claim_next, fail, succeed
from ragbase.storage.pool import Connection, Database

NAMES = ("a", "b", "c")


async def make_collections(connection: Connection) -> dict[str, Collection]:
    return {name: await create_collection(connection, name) for name in NAMES}


async def submit(connection: Connection, collection: Collection) -> int:
    return (await insert_job(connection, JobDraft("ingest", "ingest", collection.id, {}))).id


async def serve(connection: Connection) -> str | None:
    """Do the next job; the collection it is of."""
    job = await claim_next(connection, ["ingest"], worker="w", lease_s=30)
    if job is None:
        return None
    assert await succeed(connection, job)
    return job.collection


async def bulk(connection: Connection, collection: Collection, count: int) -> None:
    """Queue many at once: tags as one submission after the other would get them."""
    await connection.execute(
        """
        INSERT INTO jobs (kind, task, collection_id, payload, max_attempts, tag)
        SELECT 'ingest', 'ingest', $1, '{}', 10, n FROM generate_series(1, $2::int) n
        """,
        collection.id,
        count,
    )


async def test_ten_thousand_queued_jobs_delay_anothers_single_one_by_few(
    connection: Connection,
) -> None:
    made = await make_collections(connection)
    await bulk(connection, made["a"], 10_000)
    for _ in range(5):
        assert await serve(connection) == "a"
    await submit(connection, made["b"])
    assert "b" in [await serve(connection) for _ in range(2)]


async def test_a_busy_newcomer_does_not_starve_the_long_queue(connection: Connection) -> None:
    made = await make_collections(connection)
    await bulk(connection, made["a"], 100)
    await serve(connection)
    for _ in range(50):
        await submit(connection, made["b"])
    served = Counter([await serve(connection) for _ in range(40)])
    assert served["a"] == pytest.approx(20, abs=1)


async def test_cancelled_jobs_leave_no_gap_to_wait_out(connection: Connection) -> None:
    made = await make_collections(connection)
    await bulk(connection, made["a"], 200)
    await serve(connection)
    for row in await connection.fetch("SELECT id FROM jobs WHERE state = 'queued' AND tag > 10"):
        await cancel_job(connection, row[0])
    await submit(connection, made["b"])
    await submit(connection, made["a"])
    order = [await serve(connection) for _ in range(11)]
    assert "b" in order[:2]
    assert order.count("a") == 10


async def test_expired_jobs_do_not_turn_back_the_time(connection: Connection) -> None:
    made = await make_collections(connection)
    await bulk(connection, made["a"], 100)
    for _ in range(50):
        await serve(connection)
    await connection.execute("DELETE FROM jobs WHERE state = 'succeeded'")
    for _ in range(10):
        await submit(connection, made["b"])
    served = Counter([await serve(connection) for _ in range(10)])
    assert served["a"] == pytest.approx(5, abs=1)


async def test_a_retried_job_takes_its_turn_anew(connection: Connection) -> None:
    made = await make_collections(connection)
    first = await submit(connection, made["a"])
    job = await claim_next(connection, ["ingest"], worker="w", lease_s=30)
    assert job is not None
    await fail(connection, job, code="x", message="x")
    await bulk(connection, made["a"], 20)
    await retry_job(connection, first)
    await submit(connection, made["b"])
    assert "b" in [await serve(connection) for _ in range(2)]


Step = st.sampled_from([*NAMES, "serve", "serve"])


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(steps=st.lists(Step, min_size=5, max_size=60))
async def test_nobody_is_overtaken_more_than_twice(db: Database, steps: list[str]) -> None:
    """Between two turns of a collection that waits, each other has two turns at most (SFQ)."""
    waiting: Counter[str] = Counter()
    overtakes: Counter[tuple[str, str]] = Counter()

    def reset(waiter: str) -> None:
        overtakes.update({(waiter, other): -overtakes[waiter, other] for other in NAMES})

    async with db.acquire() as connection:
        await connection.execute("DELETE FROM collections WHERE name <> 'default'")
        made = await make_collections(connection)
        for step in [*steps, *["serve"] * len(steps)]:
            if step in made:
                await submit(connection, made[step])
                if not waiting[step]:
                    reset(step)
                waiting[step] += 1
                continue
            name = await serve(connection)
            assert (name is None) == (waiting.total() == 0), "work is never held back"
            if name is None:
                continue
            waiting[name] -= 1
            reset(name)
            for other in NAMES:
                if other != name and waiting[other]:
                    overtakes[other, name] += 1
                    assert overtakes[other, name] <= 2
