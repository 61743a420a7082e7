"""A real Postgres for the tests: one server a run, a fresh migrated database a test.

RAGBASE_TEST_DATABASE_URL names a server to use instead of the embedded one (its role must be
allowed to create databases).
"""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest
import pytest_asyncio

from ragbase.embedded import FAST_SETTINGS, EmbeddedPostgres
from ragbase.storage.migrations import migrate
from ragbase.storage.pool import Connection, Database


def on_database(dsn: str, name: str) -> str:
    """The same server's URL with another database."""
    return urlsplit(dsn)._replace(path=f"/{name}").geturl()


@pytest.fixture(scope="session")
def state_dir() -> Iterator[Path]:
    """A folder that the server's unprivileged user can reach when the tests run as root."""
    folder = Path(tempfile.mkdtemp(prefix="ragbase-tests-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def server_url(state_dir: Path) -> Iterator[str]:
    """URL of a maintenance database on the test server."""
    given = os.environ.get("RAGBASE_TEST_DATABASE_URL")
    if given:
        yield given
        return
    settings = {**FAST_SETTINGS, "shared_buffers": "128MB", "max_connections": "100"}
    with EmbeddedPostgres(state_dir / "postgres", settings=settings) as server:
        yield server.dsn


@asynccontextmanager
async def temporary_database(server_url: str, options: str = "") -> AsyncIterator[str]:
    """Create a database, yield its URL, drop it whatever is still connected."""
    name = f"ragbase_test_{uuid.uuid4().hex[:12]}"
    admin = await asyncpg.connect(server_url)
    try:
        await admin.execute(f"CREATE DATABASE {name} {options}")
        try:
            yield on_database(server_url, name)
        finally:
            await admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
    finally:
        await admin.close()


@pytest_asyncio.fixture(scope="session")
async def template(server_url: str) -> AsyncIterator[str]:
    """Name of a migrated, empty database to copy from."""
    async with temporary_database(server_url, "TEMPLATE template0") as url:
        await migrate(url, dialect="native")
        yield urlsplit(url).path.lstrip("/")


@pytest_asyncio.fixture
async def database_url(server_url: str, template: str) -> AsyncIterator[str]:
    """URL of a migrated database that only this test sees."""
    async with temporary_database(server_url, f"TEMPLATE {template} STRATEGY file_copy") as url:
        yield url


@pytest_asyncio.fixture
async def empty_database_url(server_url: str) -> AsyncIterator[str]:
    """URL of a database without any schema."""
    async with temporary_database(server_url, "TEMPLATE template0") as url:
        yield url


@pytest_asyncio.fixture
async def db(database_url: str) -> AsyncIterator[Database]:
    """An open pool on `database_url`."""
    async with await Database.open(database_url, min_size=0, max_size=10) as database:
        yield database


@pytest_asyncio.fixture
async def connection(db: Database) -> AsyncIterator[Connection]:
    """One connection of `db`, not in a transaction."""
    async with db.acquire() as connection:
        yield connection
