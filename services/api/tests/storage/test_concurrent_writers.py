"""Writers that meet leave one complete version, and a broken one leaves the old."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from ragbase.models.domain import Document
from ragbase.storage import documents as store
from ragbase.storage.embedding_models import ensure_model
from ragbase.storage.pool import Database


@pytest.fixture
async def model_id(db: Database) -> int:
    """A model of 8 dimensions."""
    async with db.transaction() as connection:
        return (await ensure_model(connection, "tests/eight", 8)).id


async def upsert(db: Database, sample, model_id: int) -> Document:
    """What ingest does: look under the lock, then insert or replace."""
    draft = sample.draft
    async with db.transaction() as connection:
        await store.lock_external_id(connection, draft.collection_id, draft.external_id)
        old = await store.find_by_external_id(connection, draft.collection_id, draft.external_id)
        if old is None:
            return await store.insert_document(connection, *sample, model_id)
        return await store.replace_document(connection, old.id, *sample, model_id)


async def test_equal_posts_at_one_moment_make_one_document(
    db: Database, model_id: int, make_sample: Callable
) -> None:
    """B053: by external id."""
    sample = make_sample(external_id="same")
    made = await asyncio.gather(*(upsert(db, sample, model_id) for _ in range(10)))
    assert len({document.id for document in made}) == 1
    async with db.read() as connection:
        assert await connection.fetchval("SELECT count(*) FROM documents") == 1
        assert await connection.fetchval("SELECT count(*) FROM chunks") == 2


async def test_equal_contents_at_one_moment_make_one_document(
    db: Database, model_id: int, make_sample: Callable
) -> None:
    """B053: by content."""
    sample = make_sample()
    digest = sample.draft.content_hash

    async def post() -> Document:
        async with db.transaction() as connection:
            await store.lock_content(connection, 1, digest)
            twin = await store.find_by_content(connection, 1, digest[:16])
            return twin or await store.insert_document(connection, *sample, model_id)

    made = await asyncio.gather(*(post() for _ in range(10)))
    assert len({document.id for document in made}) == 1


async def test_locks_of_different_ids_do_not_meet(db: Database) -> None:
    async with db.transaction() as one, db.transaction() as two:
        await store.lock_external_id(one, 1, "a")
        async with asyncio.timeout(2):
            await store.lock_external_id(two, 1, "b")
            await store.lock_external_id(two, 2, "a")


async def test_two_versions_at_once_end_as_exactly_one(
    db: Database, model_id: int, make_sample: Callable
) -> None:
    """B055: chunks of both versions, or fewer than one has, must never be seen."""
    versions = [
        make_sample([f"{name} {n}" for n in range(count)], title=name, external_id="contested")
        for name, count in (("left", 40), ("right", 25))
    ]
    for _ in range(20):
        made = await asyncio.gather(*(upsert(db, sample, model_id) for sample in versions))
        async with db.read() as connection:
            document = await store.get_document(connection, made[0].id)
            chunks = await store.list_chunks(connection, made[0].id)
            vectors = await connection.fetchval("SELECT count(*) FROM embeddings")
        assert document is not None
        winner = next(v for v in versions if v.draft.title == document.title)
        assert [chunk.content for chunk in chunks] == [chunk.content for chunk in winner.chunks]
        assert vectors == document.chunk_count == len(winner.chunks)


async def test_a_replacement_that_breaks_leaves_the_old_version_whole(
    db: Database, model_id: int, make_sample: Callable
) -> None:
    """B057: the vectors fail after the old chunks are gone and the new ones are in."""
    old = make_sample(["old one", "old two"], metadata={"v": 1}, external_id="a")
    before = await upsert(db, old, model_id)
    broken = make_sample(["new"], metadata={"v": 2}, external_id="a", dimension=9)
    with pytest.raises(Exception, match="expected 8 dimensions"):
        await upsert(db, broken, model_id)
    async with db.read() as connection:
        assert await store.get_document(connection, before.id) == before
        chunks = await store.list_chunks(connection, before.id)
        assert [(c.content, c.metadata) for c in chunks] == [
            ("old one", {"v": 1}),
            ("old two", {"v": 1}),
        ]
        assert await connection.fetchval("SELECT count(*) FROM embeddings") == 2


async def test_a_writer_that_loses_its_connection_leaves_the_old_version_whole(
    db: Database, model_id: int, make_sample: Callable
) -> None:
    """B057: the server ends the session in the middle of the replacement."""
    before = await upsert(db, make_sample(["old"], external_id="a"), model_id)

    async def replace_and_lose() -> None:
        async with db.transaction() as connection:
            await store.replace_document(
                connection, before.id, *make_sample(["new"], external_id="a"), model_id
            )
            pid = await connection.fetchval("SELECT pg_backend_pid()")
            async with db.acquire() as other:
                await other.execute("SELECT pg_terminate_backend($1)", pid)
            await connection.fetchval("SELECT 1")

    with pytest.raises(Exception, match="database"):
        await replace_and_lose()
    async with db.read() as connection:
        assert await store.get_document(connection, before.id) == before
