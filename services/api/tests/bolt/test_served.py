"""The API over a projection: the same answers, nothing deleted, and Postgres where it fails."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from ragbase.graph.bolt_driver import Bolt
from ragbase.services.jobs import JobService
from ragbase.storage.documents import delete_documents
from ragbase.storage.pool import Connection, Database

from ..graph_rows import add_document, entity_ids
from ..routes.conftest import OpenApp
from .neo4j_server import Neo4jServer
from .projected import Projected

QUERY = "Whom did Ada Lovelace know?"


async def story(connection: Connection) -> list[int]:
    """Two documents: Ada knows Babbage; Babbage knows Herschel."""
    return [
        await add_document(
            connection,
            ("Ada knew Babbage.", ["Ada Lovelace", "Babbage"], [("Ada Lovelace", "Babbage")]),
        ),
        await add_document(
            connection,
            ("Babbage knew Herschel.", ["Babbage", "Herschel"], [("Babbage", "Herschel")]),
            metadata={"year": 1833},
        ),
    ]


async def search(api: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:
    answer = await api.post("/v1/search/graph", json={"query": QUERY, "hops": 2, **fields})
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    del body["trace"]
    return body


async def eventually(fits: Callable[[], Awaitable[bool]], within_s: float = 60.0) -> None:
    deadline = time.monotonic() + within_s
    while not await fits():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.1)


@pytest.fixture
def settings(neo4j: Neo4jServer) -> dict[str, Any]:
    return {
        "memgraph_url": neo4j.url,
        "graph_store": "bolt",
        "workers": 0,
        "graph_timeout_s": 30.0,
        "graph_store_timeout_s": 10.0,
    }


async def test_both_stores_answer_a_graph_search_alike(
    projected: Projected, connection: Connection, open_app: OpenApp, settings: dict[str, Any]
) -> None:
    await story(connection)
    await projected.project()
    _, over_bolt = await open_app(**settings)
    _, over_postgres = await open_app(graph_store="postgres")
    for fields in ({}, {"hops": 1}, {"filter": {"year": 1833}}, {"ranking": "none"}):
        assert await search(over_bolt, **fields) == await search(over_postgres, **fields)
    assert (await over_bolt.get("/health")).json()["memgraph"] == "connected"
    assert (await over_postgres.get("/health")).json()["memgraph"] == "disabled"


async def test_it_is_the_projection_that_is_read(
    projected: Projected,
    connection: Connection,
    open_app: OpenApp,
    settings: dict[str, Any],
    bolt: Bolt,
) -> None:
    await story(connection)
    await projected.project()
    await bolt.write([("MATCH ()-[r:DIRECTED]->() DELETE r", {})])
    _, api = await open_app(**settings)
    assert len((await search(api))["subgraph"]["nodes"]) == 1


async def test_a_projection_that_lags_shows_nothing_deleted(
    projected: Projected,
    connection: Connection,
    db: Database,
    open_app: OpenApp,
    settings: dict[str, Any],
    bolt: Bolt,
) -> None:
    """R28: its ids are looked up in Postgres, of the collections asked for alone."""
    _, second = await story(connection)
    await projected.project()
    _, api = await open_app(**settings)
    async with db.transaction() as writing:
        await delete_documents(writing, [second])
    assert await bolt.read("MATCH (n:base) RETURN count(n)") == [[3]]
    body = await search(api)
    assert [node["name"] for node in body["subgraph"]["nodes"]] == ["Ada Lovelace", "Babbage"]
    assert [chunk["text"] for chunk in body["chunks"]] == ["Ada knew Babbage."]

    other = await connection.fetchval("INSERT INTO collections (name) VALUES ('o') RETURNING id")
    await add_document(connection, ("Secret.", ["Secret"], []), collection_id=other)
    secret = (await entity_ids(connection, other))["secret"]
    await bolt.write(
        [
            (
                "MATCH (a:base {entity_id: 'Babbage'}) "
                "CREATE (a)-[:DIRECTED]->(:base {ragbase_id: $id, collection_id: 1})",
                {"id": secret},
            )
        ]
    )
    assert "Secret" not in str(await search(api))


async def test_search_goes_on_while_the_store_is_away_and_heals_by_itself(
    projected: Projected,
    connection: Connection,
    open_app: OpenApp,
    settings: dict[str, Any],
    neo4j: Neo4jServer,
) -> None:
    """B095, contract §20: Memgraph down → Postgres answers, with a warning."""
    await story(connection)
    await projected.project()
    _, api = await open_app(**settings)
    whole = await search(api)
    assert "warnings" not in whole
    try:
        neo4j.kill()
        away = await search(api)
    finally:
        neo4j.start()
    (warning,) = away.pop("warnings")
    assert (warning["code"], warning["stage"]) == ("graph_store_unavailable", "graph")
    assert away == whole

    async def healed() -> bool:
        return await search(api) == whole

    await eventually(healed)
    assert (await api.get("/health")).json()["memgraph"] == "connected"


async def test_a_store_that_is_being_filled_is_not_read(
    projected: Projected, connection: Connection, open_app: OpenApp, settings: dict[str, Any]
) -> None:
    await story(connection)
    _, api = await open_app(**settings)
    body = await search(api)
    assert [warning["code"] for warning in body["warnings"]] == ["graph_store_filling"]
    assert len(body["subgraph"]["nodes"]) == 3


async def test_a_worker_projects_and_rebuilds(
    connection: Connection,
    open_app: OpenApp,
    settings: dict[str, Any],
    projected: Projected,
    bolt: Bolt,
) -> None:
    """`ragbase up` and `ragbase worker` with MEMGRAPH_URL; the job `project`."""
    _, api = await open_app(**{**settings, "workers": 1})
    await story(connection)
    await projected.settled()
    await bolt.write([("MATCH (n:base {entity_id: 'Herschel'}) SET n.entity_type = 'x'", {})])
    assert not (await projected.drift()).equal
    await JobService(projected.database).submit("project", None, {})

    async def done() -> bool:
        return (await api.get("/v1/jobs")).json()[0]["state"] == "succeeded"

    await eventually(done)
    assert (await projected.drift()).equal
    assert (await api.get("/v1/jobs")).json()[0]["result"]["looked_at"] == 5
