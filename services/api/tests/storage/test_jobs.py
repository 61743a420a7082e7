"""Jobs as those see them who ask for work."""

from __future__ import annotations

import pytest

from ragbase.errors import NotFoundError
from ragbase.models.jobs import JobKind
from ragbase.storage.collections import create_collection
from ragbase.storage.jobs import (
    JobDraft,
    cancel_job,
    count_waiting,
    get_job,
    insert_job,
    list_jobs,
    retry_job,
)
from ragbase.storage.pool import Connection


def draft(collection_id: int | None = 1, kind: JobKind = "ingest") -> JobDraft:
    return JobDraft(kind, kind, collection_id, {"title": "Rules"})


async def test_a_job_is_queued_with_all_it_needs(connection: Connection) -> None:
    made = await insert_job(
        connection, JobDraft("ingest", "upload", 1, {"name": "a.pdf"}, b"%PDF", key_id="abcdefgh")
    )
    assert (made.state, made.kind, made.collection) == ("queued", "ingest", "default")
    assert await get_job(connection, made.id) == made
    row = await connection.fetchrow(
        "SELECT task, payload, blob, key_id FROM jobs WHERE id = $1", made.id
    )
    assert row is not None
    assert tuple(row) == ("upload", {"name": "a.pdf"}, b"%PDF", "abcdefgh")


@pytest.mark.parametrize("absent", [0, -1, 7_000_000, 2**63])
async def test_a_job_that_is_not_there(connection: Connection, absent: int) -> None:
    assert await get_job(connection, absent) is None


async def test_jobs_of_unseen_collections_do_not_exist(connection: Connection) -> None:
    other = await create_collection(connection, "other")
    ours = await insert_job(connection, draft())
    theirs = await insert_job(connection, draft(other.id))
    nobodys = await insert_job(connection, draft(None, "backup"))
    for unseen in (theirs, nobodys):
        assert await get_job(connection, unseen.id, ["default"]) is None
    jobs, total = await list_jobs(connection, offset=0, limit=10, collections=["default"])
    assert ([job.id for job in jobs], total) == ([ours.id], 1)
    assert (await list_jobs(connection, offset=0, limit=10))[1] == 3


async def test_pages_are_newest_first_and_filtered(connection: Connection) -> None:
    made = [(await insert_job(connection, draft())).id for _ in range(3)]
    deletion = await insert_job(connection, draft(kind="delete"))
    await cancel_job(connection, made[0])
    page, total = await list_jobs(connection, offset=1, limit=2)
    assert ([job.id for job in page], total) == ([made[2], made[1]], 4)
    cancelled, _ = await list_jobs(connection, offset=0, limit=9, state="cancelled")
    assert [job.id for job in cancelled] == [made[0]]
    deletions, _ = await list_jobs(connection, offset=0, limit=9, kind="delete")
    assert [job.id for job in deletions] == [deletion.id]


async def test_a_deleted_collection_takes_its_jobs_along(connection: Connection) -> None:
    gone = await create_collection(connection, "gone")
    made = await insert_job(connection, draft(gone.id))
    await connection.execute("DELETE FROM collections WHERE id = $1", gone.id)
    assert await get_job(connection, made.id) is None
    with pytest.raises(NotFoundError) as caught:
        await insert_job(connection, draft(gone.id))
    assert caught.value.code == "collection_not_found"


async def test_a_cancelled_job_can_be_tried_again(connection: Connection) -> None:
    made = await insert_job(connection, draft())
    assert not await retry_job(connection, made.id)
    assert await cancel_job(connection, made.id)
    assert not await cancel_job(connection, made.id)
    assert await retry_job(connection, made.id)
    again = await get_job(connection, made.id)
    assert again is not None
    assert (again.state, again.finished_at) == ("queued", None)


async def test_the_queue_is_counted(connection: Connection) -> None:
    other = await create_collection(connection, "other")
    for collection in (1, 1, other.id, None):
        await insert_job(connection, draft(collection))
    waiting = await count_waiting(connection, 1)
    assert (waiting.collection, waiting.total) == (2, 4)
    assert (await count_waiting(connection, None)).collection == 1
