"""The projection follows the graph: whatever is written, removed or killed, both end up equal."""

from __future__ import annotations

import asyncio
import itertools
import random

import pytest
import structlog

from ragbase.errors import ConflictError
from ragbase.graph.bolt_driver import Bolt
from ragbase.graph.bolt_write import BoltWriter
from ragbase.models.extraction import EntityFact
from ragbase.services.projection_check import Difference
from ragbase.storage.documents import delete_documents
from ragbase.storage.graph_entities import lock_entities, merge_entities
from ragbase.storage.pool import Connection, Database

from ..graph_rows import add_document, chunk_ids, entity_ids
from .neo4j_server import Neo4jServer
from .projected import Projected

ADA, BABBAGE, ENGINE = "Ada Lovelace", "Charles Babbage", "Analytical Engine"


async def test_labels_and_properties_are_those_of_the_contract(
    projected: Projected, connection: Connection, bolt: Bolt
) -> None:
    """Contract §12 and §20: `:base`, `:DIRECTED`, their properties, a true direction (R32)."""
    document = await add_document(
        connection,
        ("One.", [EntityFact(ADA, "person", "A mathematician."), BABBAGE], [(ADA, BABBAGE)]),
        ("Two.", [EntityFact(ADA, "person", "Wrote the first program.")], []),
    )
    await projected.project()
    first, second = await chunk_ids(connection, document)
    ids = await entity_ids(connection)

    [[node]] = await bolt.read("MATCH (n:base {entity_id: $name}) RETURN properties(n)", name=ADA)
    assert {**node, "created_at": 0} == {
        "ragbase_id": ids["ada lovelace"],
        "collection_id": 1,
        "collection": "default",
        "entity_id": ADA,
        "entity_type": "person",
        "description": "A mathematician.<SEP>Wrote the first program.",
        "source_id": f"chunk-{first}<SEP>chunk-{second}",
        "file_path": "unknown_source",
        "created_at": 0,
        "truncate": "",
    }
    assert node["created_at"] > 1_700_000_000
    rows = await bolt.read(
        "MATCH (a:base)-[r:DIRECTED]->(b:base) RETURN a.entity_id, b.entity_id, properties(r)"
    )
    [[source, target, edge]] = rows
    assert (source, target) == (ADA, BABBAGE)
    assert edge["description"] == f"{ADA} knows {BABBAGE}."
    assert (edge["keywords"], edge["weight"]) == ("knows", 1.0)
    assert edge["source_id"] == f"chunk-{first}"


async def test_documents_relations_and_concepts_come_and_go(
    projected: Projected, connection: Connection, db: Database, bolt: Bolt
) -> None:
    """Delete every document: nothing left in either store; a shared entity keeps the others' share
    (B093)."""
    async with projected.projecting():
        one = await add_document(connection, ("One.", [ADA, BABBAGE], [(ADA, BABBAGE)]))
        two = await add_document(connection, ("Two.", [ADA, ENGINE], [(ADA, ENGINE)]))
        await connection.execute(
            "INSERT INTO concepts (collection_id, name) VALUES (1, 'A'), (1, 'B')"
        )
        await connection.execute(
            "INSERT INTO concept_relations (source_id, target_id, type) "
            "SELECT a.id, b.id, t FROM concepts a, concepts b, unnest(ARRAY['X', 'Y']) t "
            "WHERE a.name = 'A' AND b.name = 'B'"
        )
        await projected.settled()
        assert (await projected.drift()).equal
        assert await bolt.read("MATCH (:Concept)-[r:RELATED]->(:Concept) RETURN count(r)") == [[2]]

        async with db.transaction() as writing:
            await delete_documents(writing, [one])
        await connection.execute("DELETE FROM concept_relations WHERE type = 'X'")
        await projected.settled()
        assert (await projected.drift()).equal
        [[sources]] = await bolt.read(
            "MATCH (n:base {entity_id: $name}) RETURN n.source_id", name=ADA
        )
        assert sources == f"chunk-{(await chunk_ids(connection, two))[0]}"

        async with db.transaction() as writing:
            await delete_documents(writing, [two])
        await connection.execute("DELETE FROM concepts")
        await projected.settled()
    assert await bolt.read("MATCH (n) WHERE NOT n:RagBaseProjection RETURN count(n)") == [[0]]


async def test_what_was_there_before_the_projection_is_projected(
    projected: Projected, connection: Connection
) -> None:
    """Nothing is noted while nobody wants it; the first worker looks at everything."""
    await add_document(connection, ("One.", [ADA, BABBAGE], [(ADA, BABBAGE)]))
    assert await connection.fetchval("SELECT count(*) FROM graph_changes") == 0
    await projected.project()
    drift = await projected.drift()
    assert drift.equal
    assert drift.compared == 3


async def test_many_writers_of_one_pair_make_one_edge(
    projected: Projected, db: Database, bolt: Bolt
) -> None:
    """B091: 50 documents at the same time relate the same two."""

    async def write(number: int) -> None:
        async with db.acquire() as connection:
            await add_document(connection, (f"Text {number}.", [ADA, BABBAGE], [(ADA, BABBAGE)]))

    async with projected.projecting(batch=7):
        await asyncio.gather(*(write(number) for number in range(50)))
        await projected.settled()
    assert (await projected.drift()).equal
    rows = await bolt.read("MATCH (:base)-[r:DIRECTED]->(:base) RETURN r.weight")
    assert rows == [[50.0]]


@pytest.mark.parametrize(
    "kind",
    ["`) DETACH DELETE n //", "a, b", "with blank", "\N{PILE OF POO}", "x" * 1000, "'\"\\"],
)
async def test_hostile_types_and_names_are_values(
    projected: Projected, connection: Connection, bolt: Bolt, kind: str
) -> None:
    """B087: nothing of a document becomes a part of a statement."""
    await connection.execute(
        "INSERT INTO concepts (collection_id, name, type) VALUES (1, $1, $1), (1, 'other', $1)",
        kind,
    )
    await connection.execute(
        "INSERT INTO concept_relations (source_id, target_id, type) "
        "SELECT min(id), max(id), $1 FROM concepts",
        kind,
    )
    await add_document(connection, ("One.", [EntityFact("Ada", kind[:100]), BABBAGE], []))
    await projected.project()
    assert (await projected.drift()).equal
    assert await bolt.read("MATCH (n) RETURN count(DISTINCT labels(n))") == [[3]]


async def test_renames_and_merges_are_followed(
    projected: Projected, connection: Connection, db: Database
) -> None:
    async with projected.projecting():
        await add_document(connection, ("One.", [ADA, BABBAGE], [(ADA, BABBAGE)]))
        await add_document(connection, ("Two.", ["Countess", BABBAGE], [(BABBAGE, "Countess")]))
        ids = await entity_ids(connection)
        await projected.settled()
        async with db.transaction() as writing:
            await lock_entities(writing, [ids["ada lovelace"], ids["countess"]])
            await merge_entities(writing, ids["ada lovelace"], [ids["countess"]])
        await connection.execute("UPDATE entities SET name = 'Ada, Countess' WHERE name = $1", ADA)
        await projected.settled()
    drift = await projected.drift()
    assert drift.equal
    assert drift.compared == 4


async def test_only_our_nodes_are_touched_and_others_are_counted(
    projected: Projected, connection: Connection, bolt: Bolt
) -> None:
    """B095: what else is in the store stays there."""
    await bolt.write([("CREATE (:base {entity_id: 'theirs'}), (:Other {x: 1})", {})])
    await add_document(connection, ("One.", [ADA], []))
    await projected.project()
    drift = await projected.drift()
    assert (drift.equal, drift.foreign) == (True, 1)
    assert await bolt.read("MATCH (n:Other) RETURN count(n)") == [[1]]


async def test_a_row_that_the_store_refuses_is_left_out_and_told_of(
    projected: Projected, connection: Connection, bolt: Bolt
) -> None:
    """As with a store of the original: names of its concepts are unique there."""
    await bolt.command("DROP INDEX ragbase_concept_name IF EXISTS")
    await bolt.command("CREATE CONSTRAINT theirs FOR (n:Concept) REQUIRE n.name IS UNIQUE")
    try:
        await bolt.write([("CREATE (:Concept {name: 'n7'})", {})])
        rows = await connection.fetch(
            "INSERT INTO concepts (collection_id, name) "
            "SELECT 1, 'n' || n FROM generate_series(1, 20) n RETURNING id, name"
        )
        refused = next(row[0] for row in rows if row[1] == "n7")
        with structlog.testing.capture_logs() as lines:
            await projected.project()
    finally:
        await bolt.command("DROP CONSTRAINT theirs")
    drift = await projected.drift()
    assert drift.shown == [Difference("concept", (refused,), "missing")]
    (line,) = [line for line in lines if line["event"] == "projection_refused"]
    assert line["concepts"] == [refused]


async def test_drift_is_found_and_a_torn_store_is_mended(
    projected: Projected, connection: Connection, bolt: Bolt
) -> None:
    """B095: restarted with an index but few nodes."""
    await add_document(
        connection,
        *(
            (f"Text {n}.", [f"Name {n}", f"Name {n + 1}"], [(f"Name {n}", f"Name {n + 1}")])
            for n in range(20)
        ),
    )
    await projected.project()
    await bolt.write(
        [
            ("MATCH (n:base) WITH n ORDER BY n.ragbase_id LIMIT 3 DETACH DELETE n", {}),
            ("MATCH (n:base {entity_id: 'Name 9'}) SET n.entity_type = 'wrong'", {}),
            (
                "MATCH (a:base {entity_id: 'Name 9'}) CREATE (a)-[:DIRECTED]->(:base {ragbase_id: 9999})",
                {},
            ),
        ]
    )
    drift = await projected.drift()
    assert {(one.kind, one.what) for one in drift.shown} == {
        ("entity", "missing"),
        ("relation", "missing"),
        ("entity", "differs"),
        ("entity", "extra"),
        ("relation", "extra"),
    }
    assert next(one.properties for one in drift.shown if one.what == "differs") == ("entity_type",)
    async with projected.projecting():  # a worker that starts compares numbers
        await projected.mended()


async def test_an_emptied_store_is_filled_again(
    projected: Projected, connection: Connection, bolt: Bolt
) -> None:
    await add_document(connection, ("One.", [ADA, BABBAGE], [(ADA, BABBAGE)]))
    async with projected.projecting():
        await projected.settled()
        await bolt.write([("MATCH (n) DETACH DELETE n", {})])
        await add_document(connection, ("Two.", [ENGINE], []))
        await projected.mended()
    assert (await projected.drift()).compared == 4


async def test_a_server_killed_in_mid_projection_converges(
    projected: Projected, db: Database, neo4j: Neo4jServer
) -> None:
    """kill -9 of the store while documents come and go; afterwards equal, row by row."""
    draw = random.Random(5)
    names = [f"Name {number}" for number in range(60)]
    documents: list[int] = []
    ended = asyncio.Event()

    async def write() -> None:
        async with db.acquire() as connection:
            while not ended.is_set():
                await asyncio.sleep(0.05)  # the server takes a minute to start: not too many notes
                some = draw.sample(names, 6)
                pairs = list(itertools.pairwise(some))
                documents.append(await add_document(connection, ("Text.", some, pairs)))
                if len(documents) > 30:
                    gone = documents.pop(draw.randrange(len(documents)))
                    async with db.transaction() as writing:
                        await delete_documents(writing, [gone])

    async with projected.projecting(batch=20):
        writing = asyncio.create_task(write())
        try:
            await asyncio.sleep(1.5)
            neo4j.kill()
            await asyncio.to_thread(neo4j.start)
        finally:
            ended.set()
            await writing
        await projected.settled()
    drift = await projected.drift()
    assert drift.equal, drift.shown
    assert drift.compared > 60


async def test_a_store_that_outlived_its_database_is_taken_over_at_once(
    projected: Projected, connection: Connection, bolt: Bolt
) -> None:
    """Postgres made anew, or restored: its writers' numbers are far behind the store's."""
    await BoltWriter(bolt).claim(1_000)
    await add_document(connection, ("One.", [ADA], []))
    async with projected.projecting():
        await projected.settled(within_s=20.0)
    assert (await projected.drift()).equal


async def test_a_writer_that_was_replaced_writes_nothing(
    projected: Projected, connection: Connection, bolt: Bolt, database_url: str, db: Database
) -> None:
    """One writer: a second worker waits, and one that lost its turn is fenced off."""
    await add_document(connection, ("One.", [ADA], []))
    async with projected.projecting(), projected.projecting():
        await projected.settled()
    late = BoltWriter(bolt)
    await late.claim(1_000)
    await projected.writer.claim(1_001)
    with pytest.raises(ConflictError):
        await late.apply([])
    with pytest.raises(ConflictError):
        await late.claim(1_000)
