"""Collections: settings and counts; ``default`` is always there."""

from __future__ import annotations

from collections.abc import Callable

import asyncpg
import pytest

from ragbase.errors import ConflictError
from ragbase.storage import collections as store
from ragbase.storage import documents
from ragbase.storage.pool import Connection


async def test_default_is_there_and_stays(connection: Connection) -> None:
    default = await store.get_collection(connection, "default")
    assert default is not None
    assert (default.id, default.language, default.fusion, default.chunking) == (
        1,
        "english",
        None,
        None,
    )
    with pytest.raises(ConflictError):
        await store.delete_collection(connection, "default")


async def test_settings_come_back_as_they_went_in(connection: Connection) -> None:
    made = await store.create_collection(
        connection,
        "papers",
        language="german",
        fusion={"method": "rrf", "k": 20},
        chunking={"size": 128, "overlap": 16},
    )
    assert made == await store.get_collection(connection, "papers")
    assert (made.fusion, made.chunking) == (
        {"method": "rrf", "k": 20},
        {"size": 128, "overlap": 16},
    )
    changed = await store.update_collection(
        connection, "papers", language="french", fusion=None, chunking={"size": 64, "overlap": 0}
    )
    assert changed is not None
    assert (changed.id, changed.language, changed.fusion) == (made.id, "french", None)
    assert changed.chunking == {"size": 64, "overlap": 0}


async def test_a_name_is_taken_once(connection: Connection) -> None:
    await store.create_collection(connection, "once")
    with pytest.raises(ConflictError) as caught:
        await store.create_collection(connection, "once")
    assert caught.value.code == "collection_exists"


@pytest.mark.parametrize("name", ["", "Upper", "-dash", "a b", "ü", "x" * 64])
async def test_the_table_refuses_names_that_no_route_can_carry(
    connection: Connection, name: str
) -> None:
    with pytest.raises(asyncpg.CheckViolationError):
        await store.create_collection(connection, name)


async def test_absent_collections_are_none(connection: Connection) -> None:
    assert await store.get_collection(connection, "absent") is None
    assert not await store.delete_collection(connection, "absent")
    assert (
        await store.update_collection(
            connection, "absent", language="english", fusion=None, chunking=None
        )
        is None
    )


async def test_lists_are_by_name_and_may_be_narrowed(connection: Connection) -> None:
    for name in ("zoo", "art"):
        await store.create_collection(connection, name)
    names = [each.name for each in await store.list_collections(connection)]
    assert names == ["art", "default", "zoo"]
    some = await store.list_collections(connection, ["zoo", "absent"])
    assert [each.name for each in some] == ["zoo"]
    assert await store.list_collections(connection, []) == []


async def test_counts_and_the_end_of_a_collection(
    connection: Connection, make_sample: Callable
) -> None:
    made = await store.create_collection(connection, "full")
    sample = make_sample(["a", "b", "c"], collection_id=made.id)
    for _ in range(2):
        await documents.insert_document(connection, sample.draft, sample.chunks, None, None)
    counts = await store.count_contents(connection)
    assert counts == {1: store.Counts(0, 0), made.id: store.Counts(2, 6)}
    assert await store.delete_collection(connection, "full")
    assert await store.count_contents(connection) == {1: store.Counts(0, 0)}
    for table in ("documents", "chunks", "postings"):
        assert await connection.fetchval(f"SELECT count(*) FROM {table}") == 0
