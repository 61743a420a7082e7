"""Mending the graph by hand: what a rename or merge moves, and what it leaves alone."""

from __future__ import annotations

import asyncio

import pytest

from ragbase.errors import ConflictError
from ragbase.models.extraction import EntityFact, RelationFact
from ragbase.storage import documents as store
from ragbase.storage.graph_entities import (
    EntityFilter,
    delete_entity,
    get_entity,
    list_entities,
    lock_entities,
    merge_entities,
    rename_entity,
)
from ragbase.storage.pool import Connection, Database

from .test_graph_write import TABLES, add, names, rows, shown


async def entity(connection: Connection, normal_name: str) -> int:
    found: int = await connection.fetchval(
        "SELECT id FROM entities WHERE normal_name = $1", normal_name
    )
    return found


async def merge(connection: Connection, target: str, *sources: str) -> None:
    into = await entity(connection, target)
    ids = [await entity(connection, source) for source in sources]
    async with connection.transaction():
        assert len(await lock_entities(connection, [into, *ids])) == 1 + len(ids)
        await merge_entities(connection, into, ids)


async def rename(connection: Connection, old: str, new: str) -> None:
    async with connection.transaction():
        one = await entity(connection, old)
        await lock_entities(connection, [one])
        await rename_entity(connection, one, new.lower(), new)


async def test_a_renamed_entity_takes_mentions_of_both_names(connection: Connection) -> None:
    await add(connection, names("IBM"))
    await rename(connection, "ibm", "International Business Machines")
    await add(connection, names("IBM"), names("International Business Machines"))
    assert await shown(connection) == {"international business machines": ("unknown", "", 3)}
    found = await get_entity(connection, await connection.fetchval("SELECT id FROM entities"))
    assert found is not None
    assert (found.name, found.aliases) == ("International Business Machines", ["ibm"])
    await rename(connection, "international business machines", "IBM")
    assert await connection.fetch("SELECT normal_alias FROM entity_aliases") == [
        ("international business machines",)
    ]


async def test_a_name_that_is_taken_is_refused_and_nothing_changes(connection: Connection) -> None:
    await add(connection, names("Acme", "Ajax"))
    with pytest.raises(ConflictError) as caught:
        await rename(connection, "acme", "Ajax")
    assert caught.value.code == "entity_exists"
    assert await rows(connection, "entity_aliases") == 0
    assert set(await shown(connection)) == {"acme", "ajax"}


async def test_a_merge_moves_mentions_relations_and_names(connection: Connection) -> None:
    first = await add(
        connection,
        [
            EntityFact("UK", "country", "An island."),
            EntityFact("Britain", "country", "A kingdom."),
            RelationFact("UK", "London", "capital", "Seat.", 2),
            RelationFact("Britain", "London", "capital", "Also.", 3),
            RelationFact("UK", "Britain", "same"),
        ],
    )
    second = await add(connection, [*names("Britain"), RelationFact("Paris", "Britain", weight=4)])
    await merge(connection, "uk", "britain")
    assert await shown(connection) == {
        "uk": ("country", "An island.", 2),
        "london": ("unknown", "", 1),
        "paris": ("unknown", "", 1),
    }
    related = await connection.fetch(
        "SELECT s.normal_name, t.normal_name, m.weight FROM relations r "
        "JOIN entities s ON s.id = r.source_id JOIN entities t ON t.id = r.target_id "
        "JOIN relation_mentions m ON m.relation_id = r.id ORDER BY 1"
    )
    assert [tuple(row) for row in related] == [("paris", "uk", 4.0), ("uk", "london", 5.0)]
    await add(connection, names("Britain"))
    assert (await shown(connection))["uk"][2] == 3
    await store.delete_documents(connection, [first, second])
    assert set(await shown(connection)) == {"uk"}


async def test_a_deleted_entity_goes_with_its_relations_only(connection: Connection) -> None:
    document = await add(connection, [*names("Acme"), RelationFact("Acme", "Ajax")])
    async with connection.transaction():
        one = await entity(connection, "acme")
        await lock_entities(connection, [one])
        await delete_entity(connection, one)
    assert set(await shown(connection)) == {"ajax"}
    assert await rows(connection, "relation_mentions") == 0
    await store.delete_document(connection, document)
    for table in TABLES:
        assert await rows(connection, table) == 0, table


async def test_pages_are_by_name_and_find_parts_of_it(connection: Connection) -> None:
    await add(connection, [EntityFact("Acme 100%", "company"), *names("Acme_X", "Zeta")])
    found, total = await list_entities(connection, EntityFilter(), offset=1, limit=1)
    assert ([one.name for one in found], total) == (["Acme_X"], 3)
    found, total = await list_entities(connection, EntityFilter(text="acme"), offset=0, limit=9)
    assert [one.name for one in found] == ["Acme 100%", "Acme_X"]
    assert await list_entities(connection, EntityFilter(text="%"), offset=0, limit=9) == ([], 0)
    found, _ = await list_entities(connection, EntityFilter(type="company"), offset=0, limit=9)
    assert [one.mentions for one in found] == [1]
    assert await list_entities(connection, EntityFilter(["other"]), offset=0, limit=9) == ([], 0)


async def test_merges_and_ingests_at_once_lose_no_mention(db: Database) -> None:
    async with db.acquire() as connection:
        await add(connection, names("One", "Two"), [RelationFact("Two", "Three")])

    async def ingest() -> None:
        async with db.acquire() as connection:
            for _ in range(5):
                await add(connection, [*names("Two", "One"), RelationFact("Three", "Two")])

    async def unite() -> None:
        async with db.acquire() as connection:
            await asyncio.sleep(0.02)
            await merge(connection, "one", "two")

    await asyncio.gather(ingest(), ingest(), unite())
    async with db.acquire() as connection:
        left = await shown(connection)
        assert left == {"one": ("unknown", "", 12), "three": ("unknown", "", 11)}
