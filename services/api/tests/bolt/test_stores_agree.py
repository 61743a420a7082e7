"""Both stores answer alike, the same ids in the same order, on any graph."""

from __future__ import annotations

from collections.abc import Sequence

import asyncpg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragbase.errors import UnavailableError
from ragbase.graph import store, walks
from ragbase.graph.bolt import BoltGraphStore
from ragbase.graph.bolt_driver import Bolt
from ragbase.graph.communities import PostgresCommunities
from ragbase.graph.postgres import PostgresGraphStore
from ragbase.models.graph_reads import GraphKind
from ragbase.storage.pool import Database

from .projected import Projected

NODES = 12
OTHER_COLLECTION = 10
"""Nodes from this one on are of another collection."""

pairs = st.tuples(st.integers(1, NODES), st.integers(1, NODES)).filter(lambda p: p[0] != p[1])
graphs = st.lists(pairs, max_size=40, unique=True)
nodes = st.integers(1, NODES)


async def fill(database: Database, edges: Sequence[tuple[int, int]]) -> dict[str, list[int]]:
    """The same graph as concepts and as entities (without edges to the other collection, which
    entities never have); ids of each kind by number."""
    async with database.acquire() as connection, connection.transaction():
        await connection.execute("DELETE FROM concepts")
        await connection.execute("DELETE FROM entities")
        await connection.execute(
            "INSERT INTO collections (name) VALUES ('other') ON CONFLICT DO NOTHING"
        )
        other = await connection.fetchval("SELECT id FROM collections WHERE name = 'other'")
        homes = [1 if number < OTHER_COLLECTION else other for number in range(1, NODES + 1)]
        names = [f"n{number}" for number in range(1, NODES + 1)]
        ids = {
            "concept": await _made(
                connection,
                "INSERT INTO concepts (collection_id, name) "
                "SELECT * FROM unnest($1::bigint[], $2::text[]) RETURNING id",
                homes,
                names,
            ),
            "entity": await _made(
                connection,
                "INSERT INTO entities (collection_id, normal_name, name) "
                "SELECT c, n, n FROM unnest($1::bigint[], $2::text[]) u (c, n) RETURNING id",
                homes,
                names,
            ),
            "homes": [1, other],
        }
        await _relate(connection, ids, homes, edges)
        # Nothing else notes entities without mentions.
        await connection.execute(
            "INSERT INTO graph_changes (kind, key) SELECT 'entity', id FROM entities"
        )
        await connection.execute(
            "INSERT INTO graph_changes (kind, key, target) "
            "SELECT 'relation', source_id, target_id FROM relations"
        )
    return ids


async def _made(connection: asyncpg.Connection, statement: str, *args: object) -> list[int]:
    return [row[0] for row in await connection.fetch(statement, *args)]


async def _relate(
    connection: asyncpg.Connection,
    ids: dict[str, list[int]],
    homes: Sequence[int],
    edges: Sequence[tuple[int, int]],
) -> None:
    for source, target in edges:
        await connection.execute(
            "INSERT INTO concept_relations (source_id, target_id, type) "
            "VALUES ($1, $2, 'A'), ($1, $2, 'B')",
            ids["concept"][source - 1],
            ids["concept"][target - 1],
        )
        if homes[source - 1] == homes[target - 1]:
            await connection.execute(
                "INSERT INTO relations (collection_id, source_id, target_id) VALUES ($1, $2, $3)",
                homes[source - 1],
                ids["entity"][source - 1],
                ids["entity"][target - 1],
            )


@settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(
    edges=graphs,
    seeds=st.lists(nodes, min_size=1, max_size=3, unique=True),
    ends=st.tuples(nodes, nodes),
    hops=st.integers(0, 3),
    limit=st.integers(1, 8),
    cuts=st.tuples(st.integers(1, 4), st.integers(1, NODES)),
)
async def test_the_stores_agree_under_any_cuts(
    projected: Projected,
    bolt: Bolt,
    edges: list[tuple[int, int]],
    seeds: list[int],
    ends: tuple[int, int],
    hops: int,
    limit: int,
    cuts: tuple[int, int],
) -> None:
    fanout, nodes_max = cuts
    stores = (
        PostgresGraphStore(projected.database, PostgresCommunities(projected.database)),
        BoltGraphStore(bolt),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(walks, "FANOUT", fanout)
        patch.setattr(walks, "NODES_MAX", nodes_max)
        async with projected.projecting():
            await projected.settled()  # changes are noted from here on
            ids = await fill(projected.database, edges)
            await projected.settled()

        chosen = [ids["entity"][number - 1] for number in seeds]
        found = [await one.expand(chosen, hops) for one in stores]
        assert found[0] == found[1]
        for kind in ("concept", "entity"):
            await _agree(stores, kind, ids, ends, max(1, hops), limit)


async def _agree(
    stores: Sequence[store.GraphStore],
    kind: GraphKind,
    ids: dict[str, list[int]],
    ends: tuple[int, int],
    depth: int,
    limit: int,
) -> None:
    start, end = (ids[kind][number - 1] for number in ends)
    for collections in (ids["homes"][:1], ids["homes"]):
        reached = [await one.neighbours(kind, start, depth, collections, limit) for one in stores]
        assert reached[0] == reached[1]
        ways = [await one.path(kind, start, end, collections, 1 + depth) for one in stores]
        assert ways[0] == ways[1]


async def test_the_store_that_lacks_communities_says_so(bolt: Bolt) -> None:
    with pytest.raises(UnavailableError):
        await BoltGraphStore(bolt).communities("concept", [1])
