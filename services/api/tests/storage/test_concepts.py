"""Rows of concepts and relations: what the database itself holds to."""

from __future__ import annotations

import asyncio

import pytest

from ragbase.errors import NotFoundError
from ragbase.storage.collections import create_collection, delete_collection
from ragbase.storage.concept_relations import put_relation
from ragbase.storage.concepts import change_concept, delete_concept, put_concept
from ragbase.storage.pool import Connection, Database


async def concept(connection: Connection, name: str, collection_id: int = 1) -> int:
    return await put_concept(
        connection, collection_id, name, type="Entity", description="", metadata={}
    )


async def relate(connection: Connection, source: str, target: str) -> int | None:
    async with connection.transaction():
        return await put_relation(connection, 1, source, target, type="R", metadata={})


async def test_a_collection_that_goes_meanwhile_is_not_there(connection: Connection) -> None:
    with pytest.raises(NotFoundError) as gone:
        await concept(connection, "A", 4711)
    assert gone.value.code == "collection_not_found"


async def test_an_end_that_goes_meanwhile_is_not_there(
    db: Database, connection: Connection
) -> None:
    """Whoever relates waits for who deletes, and finds nothing left to relate to."""
    first = await concept(connection, "A")
    await concept(connection, "B")
    async with db.acquire() as other:
        async with connection.transaction():
            assert await delete_concept(connection, first)
            waiting = asyncio.create_task(relate(other, "A", "B"))
            await asyncio.sleep(0.2)
            assert not waiting.done()
        assert await waiting is None
    assert await connection.fetchval("SELECT count(*) FROM concept_relations") == 0


async def test_who_deletes_waits_for_who_relates(db: Database, connection: Connection) -> None:
    first = await concept(connection, "A")
    await concept(connection, "B")

    async def remove() -> bool:
        async with db.transaction() as other:
            return await delete_concept(other, first)

    async with connection.transaction():
        assert await put_relation(connection, 1, "A", "B", type="R", metadata={}) is not None
        waiting = asyncio.create_task(remove())
        await asyncio.sleep(0.2)
        assert not waiting.done()
    assert await waiting
    assert await connection.fetchval("SELECT count(*) FROM concept_relations") == 0
    assert await connection.fetchval("SELECT array_agg(name) FROM concepts") == ["B"]


async def test_neighbours_deleted_at_the_same_time_do_not_wait_for_each_other(
    db: Database, connection: Connection
) -> None:
    """Every concept of a dense graph at once: without one order of locks this deadlocks."""
    names = [f"n{number}" for number in range(8)]
    ids = [await concept(connection, name) for name in names]
    for _ in range(5):
        for source in names:
            for target in names:
                if source != target:
                    await relate(connection, source, target)

        async def remove(concept_id: int) -> None:
            async with db.transaction() as other:
                await delete_concept(other, concept_id)

        await asyncio.gather(*(remove(one) for one in ids))
        assert await connection.fetchval("SELECT count(*) FROM concepts") == 0
        ids = [await concept(connection, name) for name in names]


async def test_a_collection_goes_in_the_order_of_whoever_relates_its_concepts(
    db: Database, connection: Connection
) -> None:
    """By id, not as its index or its pages have them: else the two wait in a circle."""
    made = await create_collection(connection, "other")
    first = await concept(connection, "y", made.id)
    await concept(connection, "a", made.id)
    await change_concept(connection, first, name="z")  # its row lies behind the other's now

    async def remove() -> bool:
        async with db.transaction() as other:
            return await delete_collection(other, "other")

    async def relate_both() -> int | None:
        async with db.transaction() as other:
            return await put_relation(other, made.id, "z", "a", type="R", metadata={})

    async with db.transaction() as holding:
        await holding.execute("SELECT FROM concepts WHERE id = $1 FOR KEY SHARE", first)
        removing = asyncio.create_task(remove())
        await asyncio.sleep(0.2)
        relating = asyncio.create_task(relate_both())
        await asyncio.sleep(0.2)
    await asyncio.gather(relating, removing)
    assert await connection.fetchval("SELECT count(*) FROM concepts") == 0
