"""`ragbase graph status`, `check` and `rebuild` on a real projection."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable

import pytest
from typer.testing import CliRunner, Result

from ragbase.cli.app import app
from ragbase.graph.bolt_driver import Bolt
from ragbase.storage.pool import Connection

from ..graph_rows import add_document
from ..routes.conftest import OpenApp
from .neo4j_server import Neo4jServer
from .projected import Projected

Run = Callable[..., Awaitable[Result]]


@pytest.fixture
def run(database_url: str, neo4j: Neo4jServer, monkeypatch: pytest.MonkeyPatch) -> Run:
    """In a thread: commands bring an event loop of their own."""
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("MEMGRAPH_URL", neo4j.url)
    monkeypatch.setenv("RAGBASE_GRAPH_STORE_TIMEOUT", "10")
    monkeypatch.setattr("ragbase.cli.async_run.run_until_signal", asyncio.run)

    async def invoke(*arguments: str) -> Result:
        return await asyncio.to_thread(CliRunner().invoke, app, ["graph", *arguments])

    return invoke


async def test_status_and_check_tell_by_exit_code(
    run: Run, projected: Projected, connection: Connection, bolt: Bolt
) -> None:
    await add_document(connection, ("One.", ["Ada", "Babbage"], [("Ada", "Babbage")]))
    before = await run("status")
    assert (before.exit_code, "Nothing projects" in before.output) == (1, True)
    await projected.project()
    after = await run("status", "--json")
    assert after.exit_code == 0, after.output
    found = json.loads(after.output)
    assert (found["complete"], found["waiting"]) == (True, 0)
    assert found["stored"] == found["projected"]
    assert (await run("check")).exit_code == 0

    await bolt.write([("MATCH (n:base {entity_id: 'Ada'}) SET n.entity_type = 'x'", {})])
    drift = await run("check", "--json")
    assert drift.exit_code == 1
    (difference,) = json.loads(drift.output)["differences"]
    assert (difference["kind"], difference["what"]) == ("entity", "differs")
    assert difference["properties"] == ["entity_type"]
    assert "entity_type" in (await run("check")).output


async def test_rebuild_is_done_by_a_worker(
    run: Run,
    projected: Projected,
    connection: Connection,
    bolt: Bolt,
    open_app: OpenApp,
    neo4j: Neo4jServer,
) -> None:
    await add_document(connection, ("One.", ["Ada", "Babbage"], [("Ada", "Babbage")]))
    await open_app(memgraph_url=neo4j.url, workers=1)
    await projected.settled()
    await bolt.write([("MATCH (n:base {entity_id: 'Ada'}) SET n.entity_type = 'x'", {})])
    done = await run("rebuild")
    assert done.exit_code == 0, done.output
    assert "succeeded, 3 things looked at" in done.output
    assert (await projected.drift()).equal


async def test_a_store_that_is_away_is_told_of(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMGRAPH_URL", "bolt://127.0.0.1:9")
    status = await run("status")
    assert (status.exit_code, "does not answer" in status.output) == (1, True)
    assert (await run("check")).exit_code == 1
