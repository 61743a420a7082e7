"""What documents contribute to the entity graph: written once, shared, and taken back whole."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence

import asyncpg
import pytest

from ragbase.ingest.facts import clean_facts
from ragbase.models.extraction import ChunkFacts, EntityFact, GraphCounts, RelationFact
from ragbase.storage import documents as store
from ragbase.storage.collections import create_collection, delete_collection
from ragbase.storage.graph_write import lock_chunks, write_facts
from ragbase.storage.pool import Connection, Database

from .conftest import sample_document

TABLES = ("entities", "entity_aliases", "mentions", "relations", "relation_mentions")


async def add(
    connection: Connection,
    *says: Sequence[EntityFact | RelationFact],
    collection_id: int = 1,
    title: str = "Sample",
) -> int:
    """A document with one chunk for each of ``says``; its id."""
    sample = sample_document(
        [f"chunk {number}" for number in range(len(says))],
        title=title,
        collection_id=collection_id,
    )
    document = await store.insert_document(connection, sample.draft, sample.chunks, None, None)
    await graph(connection, document.id, *says)
    return document.id


async def graph(
    connection: Connection, document_id: int, *says: Sequence[EntityFact | RelationFact]
) -> GraphCounts:
    """Write what each chunk of a document says."""
    async with connection.transaction():
        locked = await lock_chunks(connection, document_id)
        assert locked is not None
        facts = [
            clean_facts(
                ChunkFacts(
                    chunk_id,
                    [fact for fact in said if isinstance(fact, EntityFact)],
                    [fact for fact in said if isinstance(fact, RelationFact)],
                )
            )
            for chunk_id, said in zip(locked[1], says, strict=True)
        ]
        return await write_facts(connection, document_id, locked[0], facts, "test")


async def rows(connection: Connection, table: str) -> int:
    count: int = await connection.fetchval(f"SELECT count(*) FROM {table}")
    return count


async def shown(connection: Connection) -> dict[str, tuple[str, str, int]]:
    """Type, description and number of mentions by normalised name."""
    found = await connection.fetch(
        "SELECT normal_name, type, description, "
        "(SELECT count(*) FROM mentions WHERE entity_id = e.id) FROM entities e"
    )
    return {row[0]: (row[1], row[2], row[3]) for row in found}


def names(*given: str) -> list[EntityFact]:
    return [EntityFact(name) for name in given]


async def test_spellings_of_a_name_are_one_entity_with_all_mentions(connection: Connection) -> None:
    """B083: case, doubled and trailing blanks, no-break space, decomposed form."""
    spellings = ["ACME Café", "Acme Café", "acme  café ", "acme\u00a0café", "acme cafe\u0301"]
    for spelling in spellings:
        await add(connection, names(spelling))
    assert await shown(connection) == {"acme café": ("unknown", "", 5)}
    assert await connection.fetchval("SELECT name FROM entities") == "ACME Café"


async def test_one_name_with_two_types_is_one_entity_reached_from_both_documents(
    connection: Connection,
) -> None:
    """B085: concept in one document, technology in another."""
    one = await add(connection, [EntityFact("Python", "concept", "A language.")])
    two = await add(connection, [EntityFact("python", "technology", "A runtime.")])
    three = await add(connection, [EntityFact("Python", "technology")])
    assert await shown(connection) == {"python": ("technology", "A language.\nA runtime.", 3)}
    reached = await connection.fetch("SELECT document_id FROM mentions ORDER BY 1")
    assert [row[0] for row in reached] == [one, two, three]
    types = await connection.fetch("SELECT type FROM mentions ORDER BY chunk_id")
    assert [row[0] for row in types] == ["concept", "technology", "technology"]


async def test_a_nul_inside_a_name_leaves_a_readable_entity(connection: Connection) -> None:
    """B003: U+0000 in names, types, descriptions and keywords that are made later."""
    said = [
        EntityFact("Ada\x00 Love\x00lace", "per\x00son", "Wrote\x00 notes.\ud800"),
        RelationFact("Ada Lovelace", "Charles\x00 Babbage", "work\x00", "knew\x00 him"),
    ]
    counts = await graph(connection, await add(connection, []), said)
    assert (counts.entities, counts.relations) == (2, 1)
    assert await shown(connection) == {
        "ada lovelace": ("person", "Wrote notes.", 1),
        "charles babbage": ("unknown", "", 1),
    }
    row = await connection.fetchrow("SELECT keywords, description FROM relation_mentions")
    assert row is not None
    assert tuple(row) == ("work", "knew him")


async def test_a_pair_named_by_fifty_documents_at_once_is_one_relation(db: Database) -> None:
    """B091: one edge, and each document's weight."""

    async def one(number: int) -> None:
        async with db.acquire() as connection:
            pair = [RelationFact("Acme", "Ajax", weight=2.0), *names(f"only {number}")]
            random.shuffle(pair)
            await add(connection, pair, [RelationFact("Ajax", "Acme")])

    await asyncio.gather(*(one(number) for number in range(50)))
    async with db.acquire() as connection:
        found = await connection.fetch(
            "SELECT s.normal_name, t.normal_name, count(*), sum(m.weight) FROM relations r "
            "JOIN entities s ON s.id = r.source_id JOIN entities t ON t.id = r.target_id "
            "JOIN relation_mentions m ON m.relation_id = r.id GROUP BY 1, 2 ORDER BY 1"
        )
        assert [tuple(row) for row in found] == [
            ("acme", "ajax", 50, 100.0),
            ("ajax", "acme", 50, 50.0),
        ]
        assert await rows(connection, "entities") == 52


async def test_extracting_again_changes_nothing(connection: Connection) -> None:
    said = [*names("Acme", "Ajax"), RelationFact("Acme", "Ajax", "rival", "They compete.", 3)]
    document = await add(connection, said, names("Acme"))
    before = [await connection.fetch(f"SELECT * FROM {table} ORDER BY 1, 2") for table in TABLES]
    await graph(connection, document, said, names("Acme"))
    after = [await connection.fetch(f"SELECT * FROM {table} ORDER BY 1, 2") for table in TABLES]
    assert before == after


async def test_what_a_document_says_no_longer_goes(connection: Connection) -> None:
    document = await add(
        connection, [*names("Acme"), RelationFact("Acme", "Ajax")], names("Ajax", "Hermes")
    )
    kept = await connection.fetchval("SELECT id FROM entities WHERE normal_name = 'acme'")
    counts = await graph(connection, document, names("Acme"), names("Hermes"))
    assert counts == GraphCounts(entities=2, relations=0, mentions=2)
    assert set(await shown(connection)) == {"acme", "hermes"}
    assert await connection.fetchval("SELECT id FROM entities WHERE normal_name = 'acme'") == kept
    assert await rows(connection, "relations") == 0


async def test_deleting_a_document_takes_its_share_and_no_more(connection: Connection) -> None:
    """Shared entities keep what the others say of them, exactly."""
    shared = [
        EntityFact("Acme", "company", "Makes anvils."),
        RelationFact("Acme", "Ajax", weight=2),
    ]
    first = await add(connection, shared, names("Hermes"))
    await add(connection, [EntityFact("Acme", "band"), RelationFact("Acme", "Ajax", weight=5)])
    assert (await shown(connection))["acme"] == ("band", "Makes anvils.", 2)
    await store.delete_document(connection, first)
    assert await shown(connection) == {"acme": ("band", "", 1), "ajax": ("unknown", "", 1)}
    assert await connection.fetchval("SELECT sum(weight) FROM relation_mentions") == 5


@pytest.mark.parametrize("way", ["one by one", "together", "by plain SQL", "with the collection"])
async def test_nothing_is_left_when_all_documents_are_deleted(
    connection: Connection, way: str
) -> None:
    collection = await create_collection(connection, "other")
    documents = [
        await add(
            connection,
            [*names("Acme", f"Only {number}"), RelationFact("Acme", "Ajax")],
            [RelationFact(f"Only {number}", "Ajax")],
            collection_id=collection.id,
        )
        for number in range(5)
    ]
    if way == "one by one":
        for document in documents:
            await store.delete_document(connection, document)
    elif way == "together":
        await store.delete_documents(connection, documents)
    elif way == "by plain SQL":
        await connection.execute("DELETE FROM documents")
    else:
        await delete_collection(connection, "other")
    for table in (*TABLES, "graphed_documents"):
        assert await rows(connection, table) == 0, table


async def test_a_new_version_begins_without_a_graph(connection: Connection) -> None:
    document = await add(connection, names("Acme"))
    await add(connection, names("Acme", "Ajax"))
    sample = sample_document(["another text"])
    await store.replace_document(connection, document, sample.draft, sample.chunks, None, None)
    assert await shown(connection) == {"acme": ("unknown", "", 1), "ajax": ("unknown", "", 1)}
    assert await rows(connection, "graphed_documents") == 1


async def test_entities_of_collections_are_apart(connection: Connection) -> None:
    other = await create_collection(connection, "other")
    await add(connection, [EntityFact("Acme", "company")])
    await add(connection, [EntityFact("Acme", "secret project")], collection_id=other.id)
    found = await connection.fetch("SELECT collection_id, type FROM entities ORDER BY 1")
    assert [tuple(row) for row in found] == [(1, "company"), (other.id, "secret project")]


async def test_a_shared_entity_outlives_a_deletion_beside_an_ingest(db: Database) -> None:
    """B093: delete one of two documents while a third that names the same things is stored."""
    for _ in range(15):
        async with db.acquire() as connection:
            first = await add(connection, [*names("Acme", "Gone"), RelationFact("Acme", "Ajax")])
            second = await add(connection, names("Acme"))

        async def ingest() -> int:
            async with db.acquire() as connection:
                said = [*names("Gone", "Acme"), RelationFact("Acme", "Ajax")]
                return await add(connection, said)

        async def delete(document: int) -> None:
            async with db.transaction() as connection:
                await store.delete_document(connection, document)

        third, *_ = await asyncio.gather(ingest(), delete(first), delete(second))
        async with db.acquire() as connection:
            left = await shown(connection)
            assert {name: facts[2] for name, facts in left.items()} == {
                "acme": 1,
                "ajax": 1,
                "gone": 1,
            }
            sources = await connection.fetch("SELECT DISTINCT document_id FROM mentions")
            assert [row[0] for row in sources] == [third]
            assert await rows(connection, "relation_mentions") == 1
            await store.delete_document(connection, third)
            assert await rows(connection, "entities") == 0


@pytest.mark.slow
async def test_writers_and_deleters_of_shared_entities_never_deadlock(db: Database) -> None:
    """B093: all name some of the same twenty things, in any order; what is left adds up."""
    rng = random.Random(7)
    things = [f"Thing {number}" for number in range(20)]

    async def live(seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(6):
            said = [
                [*names(*rng.sample(things, 6)), RelationFact(*rng.sample(things, 2))]
                for _ in range(3)
            ]
            async with db.acquire() as connection:
                document = await add(connection, *said)
            if rng.random() < 0.7:
                async with db.transaction() as connection:
                    await store.delete_document(connection, document)

    await asyncio.gather(*(live(rng.randrange(10**6)) for _ in range(8)))
    async with db.acquire() as connection:
        assert (
            await connection.fetchval(
                "SELECT count(*) FROM entities e WHERE NOT EXISTS "
                "(SELECT FROM mentions WHERE entity_id = e.id)"
            )
            == 0
        )
        assert (
            await connection.fetchval(
                "SELECT count(*) FROM relations r WHERE NOT EXISTS "
                "(SELECT FROM relation_mentions WHERE relation_id = r.id)"
            )
            == 0
        )
        left = await connection.fetch("SELECT id FROM documents")
        await store.delete_documents(connection, [row[0] for row in left])
        for table in TABLES:
            assert await rows(connection, table) == 0, table


async def test_descriptions_do_not_grow_for_ever(connection: Connection) -> None:
    for number in range(12):
        await add(connection, [EntityFact("Acme", description=f"Fact {number % 10}.")])
    _, description, _ = (await shown(connection))["acme"]
    assert description.split("\n") == [f"Fact {number}." for number in range(8)]


async def test_an_entity_cannot_relate_to_itself(connection: Connection) -> None:
    await add(connection, [*names("Acme"), RelationFact("Acme", "the ACME")])
    assert await rows(connection, "relations") == 0
    one = await connection.fetchval("SELECT id FROM entities")
    with pytest.raises(asyncpg.CheckViolationError):
        await connection.execute(
            "INSERT INTO relations (collection_id, source_id, target_id) VALUES (1, $1, $1)", one
        )
