"""Start-up check, fold and rebuild of the native dialect."""

from __future__ import annotations

import asyncio

import pytest

from ragbase.retrieval.lexical.native import NativeDialect
from ragbase.storage.pool import Connection, Database

NATIVE = NativeDialect()


async def scores(connection: Connection) -> list[tuple[int, float]]:
    hits = await NATIVE.search(connection, ["a", "b", "c"], [1], depth=100)
    return [(hit.chunk_id, hit.score) for hit in hits]


async def test_a_sound_index_is_left_alone(shelf, connection: Connection) -> None:
    assert await NATIVE.prepare(connection) == []
    await shelf.add(["a b", "", "b c c"])
    before = await connection.fetch("SELECT ctid::text FROM postings")
    assert await NATIVE.prepare(connection) == []
    assert await connection.fetch("SELECT ctid::text FROM postings") == before


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE postings SET term_key = term_key + 1",  # the hash of another major version
        "TRUNCATE postings",
        "DELETE FROM postings WHERE chunk_id = (SELECT max(id) FROM chunks)",
        "TRUNCATE lexical_statistics",
        "UPDATE lexical_statistics SET chunks = chunks + 1",
    ],
)
async def test_a_broken_index_is_rebuilt_at_start(
    shelf, connection: Connection, damage: str
) -> None:
    await shelf.add(["a b", "b c c", "a d", "e"])
    expected = await scores(connection)
    await connection.execute(damage)
    assert await NATIVE.prepare(connection) != []
    assert await scores(connection) == expected
    assert await NATIVE.prepare(connection) == []


async def test_two_starts_rebuild_once(db: Database, shelf, connection: Connection) -> None:
    await shelf.add([f"a w{n}" for n in range(500)])
    await connection.execute("TRUNCATE postings")

    async def start() -> list[str]:
        async with db.acquire() as own:
            return await NATIVE.prepare(own)

    done = await asyncio.gather(start(), start(), start())
    assert sorted(len(actions) for actions in done) == [0, 0, 1]


async def test_searches_and_checks_during_rebuilds_never_deadlock(
    db: Database, shelf, connection: Connection
) -> None:
    await shelf.add([f"a w{n}" for n in range(50)])
    done = asyncio.Event()

    async def check() -> None:
        async with db.acquire() as own:
            while not done.is_set():
                await NATIVE.prepare(own)

    async def search() -> None:
        async with db.acquire() as own:
            while not done.is_set():
                await scores(own)

    async with asyncio.TaskGroup() as tasks:
        for reader in (check, search, search):
            tasks.create_task(reader())
        for _ in range(20):
            await NATIVE.rebuild(connection)
        done.set()


async def test_a_rebuild_gives_the_same_scores(shelf, connection: Connection) -> None:
    await shelf.add(["a b", "b c c", "a d", "e"])
    expected = await scores(connection)
    await NATIVE.rebuild(connection)
    assert await scores(connection) == expected
    assert await connection.fetchval("SHOW statement_timeout") == "30s"


async def test_a_rebuild_that_breaks_off_changes_nothing(shelf, connection: Connection) -> None:
    await shelf.add(["a b", "b c c"])
    expected = await scores(connection)
    transaction = connection.transaction()
    await transaction.start()
    await NATIVE.rebuild(connection)
    await transaction.rollback()
    assert await scores(connection) == expected


async def test_folding_leaves_one_row_a_collection_and_the_same_scores(
    shelf, connection: Connection
) -> None:
    other = await shelf.collection("other")
    for n in range(10):
        await shelf.add(["a b", f"c d{n}"], [1, other][n % 2])
    await connection.execute("DELETE FROM collections WHERE id = $1", other)
    expected = await scores(connection)
    assert await connection.fetchval("SELECT count(*) FROM lexical_statistics") > 10
    await NATIVE.maintain(connection)
    rows = await connection.fetch("SELECT collection_id, chunks FROM lexical_statistics")
    assert [tuple(row) for row in rows] == [(1, 10)]
    assert await scores(connection) == expected


async def test_folds_at_once_lose_nothing(db: Database, shelf, connection: Connection) -> None:
    for n in range(40):
        await shelf.add(["a b", f"c d{n}"])

    async def fold() -> None:
        async with db.acquire() as own:
            await NATIVE.maintain(own)

    await asyncio.gather(*(fold() for _ in range(5)))
    assert await connection.fetchval("SELECT sum(chunks)::int FROM lexical_statistics") == 80


async def test_a_fold_does_not_wait_for_a_writer(
    db: Database, shelf, connection: Connection
) -> None:
    await shelf.add(["a"])
    await shelf.add(["b"])
    async with db.transaction() as other:
        await other.execute("SELECT FROM lexical_statistics FOR UPDATE")
        await asyncio.wait_for(NATIVE.maintain(connection), timeout=2)
