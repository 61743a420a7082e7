"""Walks in Postgres: least distances, shortest paths, stated cuts, no way out of the collections."""

from __future__ import annotations

from itertools import pairwise

import networkx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragbase.errors import InvalidInputError
from ragbase.graph import walks
from ragbase.graph.communities import PostgresCommunities
from ragbase.graph.postgres import PostgresGraphStore
from ragbase.graph.store import Step
from ragbase.storage.pool import Connection, Database

pairs = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(lambda pair: pair[0] != pair[1]),
    max_size=30,
    unique=True,
)


@pytest.fixture
def store(db: Database) -> PostgresGraphStore:
    return PostgresGraphStore(db, PostgresCommunities(db))


async def concepts(connection: Connection, count: int, collection: int = 1) -> list[int]:
    """Ids of new concepts, ascending."""
    rows = await connection.fetch(
        "INSERT INTO concepts (collection_id, name) "
        "SELECT $1, 'c' || n FROM generate_series(1, $2::int) n RETURNING id",
        collection,
        count,
    )
    return sorted(row[0] for row in rows)


async def relate(connection: Connection, found: list[tuple[int, int]]) -> None:
    await connection.executemany(
        "INSERT INTO concept_relations (source_id, target_id, type) VALUES ($1, $2, 'X')", found
    )


async def test_nodes_come_once_at_their_least_depth_without_the_start(
    store: PostgresGraphStore, connection: Connection
) -> None:
    """R34: a diamond, a way back to the start, two relations of one pair."""
    a, b, c, d = await concepts(connection, 4)
    await relate(connection, [(a, b), (a, c), (b, d), (c, d), (d, a), (a, d)])
    await connection.execute(
        "INSERT INTO concept_relations (source_id, target_id, type) VALUES ($1, $2, 'Y')", a, b
    )
    found = await store.neighbours("concept", a, 5, [1], 100)
    assert found == [Step(b, 1), Step(c, 1), Step(d, 1)]
    assert await store.neighbours("concept", b, 1, [1], 100) == [Step(d, 1)]
    assert await store.neighbours("concept", b, 5, [1], 2) == [Step(d, 1), Step(a, 2)]
    assert await store.neighbours("concept", 10**6, 2, [1], 9) == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edges=pairs, ends=st.tuples(st.integers(0, 9), st.integers(0, 9)), depth=st.integers(1, 6))
async def test_paths_are_shortest_and_neighbours_complete(
    store: PostgresGraphStore,
    db: Database,
    edges: list[tuple[int, int]],
    ends: tuple[int, int],
    depth: int,
) -> None:
    """Against networkx."""
    async with db.acquire() as connection:
        await connection.execute("DELETE FROM concepts")
        ids = await concepts(connection, 10)
        await relate(connection, [(ids[a], ids[b]) for a, b in edges])
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(10))
    graph.add_edges_from(edges)
    start, end = (ids[number] for number in ends)

    lengths = networkx.single_source_shortest_path_length(graph, ends[0], cutoff=depth)
    wanted = sorted((far, ids[node]) for node, far in lengths.items() if far)
    steps = await store.neighbours("concept", start, depth, [1], 1000)
    assert [(step.depth, step.id) for step in steps] == wanted

    both_ways = graph.to_undirected()
    path = await store.path("concept", start, end, [1], depth)
    if not networkx.has_path(both_ways, *ends):
        assert path is None
        return
    length = networkx.shortest_path_length(both_ways, *ends)
    if length > depth:
        assert path is None
        return
    assert path is not None
    assert (path[0], path[-1], len(path) - 1) == (start, end, length)
    numbers = [ids.index(one) for one in path]
    assert all(both_ways.has_edge(a, b) for a, b in pairwise(numbers))
    assert await store.path("concept", start, end, [1], depth) == path


async def test_no_walk_leaves_the_collections(
    store: PostgresGraphStore, connection: Connection
) -> None:
    """Not even where a row relates two collections, by one hop or through the other."""
    other = await connection.fetchval("INSERT INTO collections (name) VALUES ('o') RETURNING id")
    a, c = await concepts(connection, 2)
    [b] = await concepts(connection, 1, other)
    await relate(connection, [(a, b), (b, c)])
    assert await store.neighbours("concept", a, 5, [1], 100) == []
    assert await store.path("concept", a, c, [1], 5) is None
    assert await store.path("concept", a, c, [1, other], 5) == [a, b, c]
    assert await store.path("concept", a, a, [1], 5) == [a]


async def test_a_hub_is_cut(
    store: PostgresGraphStore, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B089: of the start's relations as many as asked for, of another node's a fixed number, those
    to the least ids."""
    monkeypatch.setattr(walks, "FANOUT", 2)
    start, hub, *leaves = await concepts(connection, 8)
    await relate(connection, [(start, hub), *((hub, leaf) for leaf in reversed(leaves))])
    found = await store.neighbours("concept", start, 3, [1], 100)
    assert [step.id for step in found] == [hub, *leaves[:2]]
    found = await store.neighbours("concept", hub, 3, [1], 5)
    assert [step.id for step in found] == leaves[:5]


async def test_a_path_through_too_many_nodes_is_given_up(
    store: PostgresGraphStore, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walks, "PATH_NODES_MAX", 5)
    hub, *leaves = await concepts(connection, 10)
    [far] = await concepts_named(connection, "far")
    await relate(connection, [(hub, leaf) for leaf in leaves])
    with pytest.raises(InvalidInputError, match="5 nodes"):
        await store.path("concept", leaves[0], far, [1], 5)


async def concepts_named(connection: Connection, *names: str) -> list[int]:
    rows = await connection.fetch(
        "INSERT INTO concepts (collection_id, name) SELECT 1, unnest($1::text[]) RETURNING id",
        list(names),
    )
    return [row[0] for row in rows]
