"""A Neo4j server for the run, emptied for each test. `make test-graph-bolt`; not part of `make test`.

Without Java or Maven these tests are skipped, with ``bolt`` in RAGBASE_REQUIRE they fail.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from ragbase.graph.bolt_driver import Bolt
from ragbase.graph.bolt_write import BoltWriter
from ragbase.storage.pool import Database

from ..routes.conftest import embedder, open_app
from .neo4j_server import MissingProgramError, Neo4jServer
from .projected import Projected

__all__ = ["embedder", "open_app"]

HERE = Path(__file__).parent
REQUIRED = "bolt" in os.environ.get("RAGBASE_REQUIRE", "").replace(",", " ").split()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Only where they are asked for by path: a server takes its time to start."""
    asked = [Path(argument.split("::")[0]).resolve() for argument in config.args]
    return None if any(path.is_relative_to(HERE) for path in asked) else True


@pytest.fixture(scope="session")
def neo4j() -> Iterator[Neo4jServer]:
    """A server that listens. Tests that end it start it again."""
    try:
        server = Neo4jServer()
    except MissingProgramError as error:
        if REQUIRED:
            pytest.fail(str(error))
        pytest.skip(str(error))
    try:
        server.start()
        yield server
    finally:
        server.close()


@pytest_asyncio.fixture
async def bolt(neo4j: Neo4jServer) -> AsyncIterator[Bolt]:
    """A driver on an empty database."""
    driver = Bolt.open(neo4j.url, read_s=30.0, write_s=30.0)
    try:
        await driver.write([("MATCH (n) DETACH DELETE n", {})])
        yield driver
    finally:
        await driver.close()


@pytest.fixture
def projected(db: Database, database_url: str, bolt: Bolt) -> Projected:
    """The database's graph and its projection."""
    return Projected(db, database_url, BoltWriter(bolt))
