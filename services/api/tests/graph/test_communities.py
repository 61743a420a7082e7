"""Communities out of Postgres: what counts as an edge, when they are computed again, bounds."""

from __future__ import annotations

import asyncio
import threading

import pytest

from ragbase.errors import InvalidInputError
from ragbase.graph import communities as module
from ragbase.graph.communities import PostgresCommunities
from ragbase.storage.collections import create_collection
from ragbase.storage.concept_relations import put_relation
from ragbase.storage.concepts import put_concept
from ragbase.storage.pool import Connection, Database

from ..graph_rows import add_document, entity_ids


async def concept(connection: Connection, name: str, collection_id: int = 1) -> int:
    return await put_concept(
        connection, collection_id, name, type="Entity", description="", metadata={}
    )


async def relate(connection: Connection, source: str, target: str, kind: str = "KNOWS") -> None:
    async with connection.transaction():
        made = await put_relation(connection, 1, source, target, type=kind, metadata={})
    assert made is not None


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Number of edges of each computation."""
    counts: list[int] = []
    compute = module._computed

    def counting(nodes, edges):
        counts.append(len(edges))
        return compute(nodes, edges)

    monkeypatch.setattr(module, "_computed", counting)
    return counts


async def test_entities_fall_into_communities_by_their_relations(
    db: Database, connection: Connection
) -> None:
    pairs = [("A", "B"), ("B", "C"), ("C", "A"), ("X", "Y"), ("Y", "Z"), ("Z", "X"), ("C", "X")]
    await add_document(connection, ("t", ["A", "B", "C", "X", "Y", "Z", "Alone"], pairs))
    ids = await entity_ids(connection)
    found = await PostgresCommunities(db).of("entity", [1])
    named = {name: found[one] for name, one in ids.items()}
    assert named.pop("alone") == -1
    first, second = named["a"], named["x"]
    assert {first, second} == {0, 1}
    assert named == {"a": first, "b": first, "c": first, "x": second, "y": second, "z": second}
    assert await PostgresCommunities(db).of("concept", [1]) == {}, "two graphs"


async def test_collections_are_read_as_asked_for(db: Database, connection: Connection) -> None:
    other = await create_collection(connection, "other")
    here = await concept(connection, "A")
    there = await concept(connection, "A", other.id)
    communities = PostgresCommunities(db)
    assert await communities.of("concept", [1]) == {here: -1}
    assert await communities.of("concept", [other.id]) == {there: -1}
    assert await communities.of("concept", [other.id, 1, 1]) == {here: -1, there: -1}
    assert await communities.of("concept", []) == {}


async def test_an_unchanged_graph_is_not_computed_again(
    db: Database, connection: Connection, computed: list[int]
) -> None:
    for name in "AB":
        await concept(connection, name)
    await relate(connection, "A", "B")
    communities = PostgresCommunities(db)
    first = await communities.of("concept", [1])
    await relate(connection, "A", "B")  # the same again
    await connection.execute("UPDATE concepts SET description = 'said since'")
    assert await communities.of("concept", [1]) is first
    assert computed == [1]


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM concept_relations WHERE type = 'USES'",
        "DELETE FROM concepts WHERE name = 'C'",
        "INSERT INTO concepts (collection_id, name) VALUES (1, 'D')",
        "INSERT INTO concept_relations (source_id, target_id, type) "
        "SELECT min(id), max(id), 'LIKES' FROM concepts",
        # as many as before, the greatest id too
        "WITH gone AS (DELETE FROM concept_relations WHERE id = 1) INSERT INTO concept_relations "
        "(id, source_id, target_id, type) OVERRIDING SYSTEM VALUE "
        "SELECT 2, min(id), max(id), 'LIKES' FROM concepts",
    ],
)
async def test_any_change_of_nodes_or_relations_shows_at_once(
    db: Database, connection: Connection, computed: list[int], change: str
) -> None:
    for name in "ABC":
        await concept(connection, name)
    await relate(connection, "A", "B")
    await connection.execute("SELECT nextval(pg_get_serial_sequence('concept_relations', 'id'))")
    await relate(connection, "B", "C", "USES")
    communities = PostgresCommunities(db)
    await communities.of("concept", [1])
    await connection.execute(change)
    again = await communities.of("concept", [1])
    assert len(computed) == 2
    assert again == await PostgresCommunities(db).of("concept", [1])


async def test_callers_at_the_same_time_wait_for_one_computation(
    db: Database, connection: Connection, computed: list[int]
) -> None:
    for name in "AB":
        await concept(connection, name)
    await relate(connection, "A", "B")
    communities = PostgresCommunities(db)
    answers = await asyncio.gather(*(communities.of("concept", [1]) for _ in range(8)))
    assert all(answer == answers[0] for answer in answers)
    assert computed == [1]


async def test_what_a_caller_did_not_wait_for_is_computed_once_and_kept(
    db: Database, connection: Connection, computed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Callers in a hurry begin no second computation beside the first."""
    for name in "AB":
        await concept(connection, name)
    await relate(connection, "A", "B")
    go = threading.Event()
    compute = module._computed

    def slow(nodes, edges):
        go.wait(30)
        return compute(nodes, edges)

    monkeypatch.setattr(module, "_computed", slow)
    communities = PostgresCommunities(db)
    try:
        for _ in range(5):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(communities.of("concept", [1]), 0.2)
    finally:
        go.set()
    assert len(await communities.of("concept", [1])) == 2
    assert computed == [1]


async def test_a_graph_beyond_the_bound_is_refused(db: Database, connection: Connection) -> None:
    for name in "ABC":
        await concept(connection, name)
    with pytest.raises(InvalidInputError, match="at most 2 nodes") as refused:
        await PostgresCommunities(db, most=2).of("concept", [1])
    assert refused.value.code == "graph_too_large"
    assert len(await PostgresCommunities(db, most=3).of("concept", [1])) == 3


async def test_what_is_kept_is_bounded(
    db: Database, connection: Connection, computed: list[int]
) -> None:
    """The answer asked for longest ago goes first."""
    others = [(await create_collection(connection, f"c{n}")).id for n in range(2)]
    for collection_id in (1, *others):
        for name in "AB":
            await concept(connection, name, collection_id)
    communities = PostgresCommunities(db, most=4)  # two answers of two nodes
    for asked in (1, others[0], 1, others[1], 1, others[0]):
        await communities.of("concept", [asked])
    assert len(computed) == 4, "1, c0, c1, and c0 again"
