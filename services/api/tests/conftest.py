"""A real Postgres for the tests: one server a run, a fresh migrated database a test.

RAGBASE_TEST_DATABASE_URL names a server to use instead of the embedded one (its role must be
allowed to create databases).
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import threading
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import hypothesis
import pytest
import pytest_asyncio
import structlog
import uvicorn
from fastapi import FastAPI

from ragbase.embedded import FAST_SETTINGS, EmbeddedPostgres
from ragbase.storage.migrations import migrate
from ragbase.storage.pool import Connection, Database
from services.api.tests.scratch import scratch_folder

hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")
"""How long an example takes says more of the machine's load than of the code."""

# A shell ignores Ctrl-C for what it starts in the background, and children inherit that: programs
# under test would not hear it either.
signal.signal(signal.SIGINT, signal.default_int_handler)


def on_database(dsn: str, name: str) -> str:
    """The same server's URL with another database."""
    return urlsplit(dsn)._replace(path=f"/{name}").geturl()


@pytest.fixture(scope="session", autouse=True)
def _no_extraction() -> Iterator[None]:
    """Documents get no graph jobs, but where a test is about them and says so."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAGBASE_EXTRACTION", "off")
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No model but the bundled one: tests fetch nothing, and find nothing that a user fetched."""
    cache = str(tmp_path_factory.mktemp("hub"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setenv("HF_HUB_CACHE", cache)
        patch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
        patch.setattr("huggingface_hub.constants.HF_HUB_CACHE", cache)
        yield


@pytest.fixture(scope="session")
def state_dir() -> Iterator[Path]:
    """A folder that the server's unprivileged user can reach when the tests run as root."""
    folder = scratch_folder()
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def server_url(state_dir: Path) -> Iterator[str]:
    """URL of a maintenance database on the test server."""
    given = os.environ.get("RAGBASE_TEST_DATABASE_URL")
    if given:
        yield given
        return
    settings = {
        **FAST_SETTINGS,
        "shared_buffers": "128MB",
        "max_connections": "100",
        "max_wal_size": "256MB",
    }
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


@pytest.fixture(scope="session")
def new_database(server_url: str) -> Callable[[str], AbstractAsyncContextManager[str]]:
    """Makes a database, by the options of CREATE DATABASE, for as long as its context lasts."""
    return partial(temporary_database, server_url)


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


Serve = Callable[[FastAPI], str]


@pytest.fixture(scope="session")
def serve() -> Iterator[Serve]:
    """Puts an app on a free port, in a thread with a loop of its own; gives its URL."""
    running: list[tuple[uvicorn.Server, threading.Thread, socket.socket]] = []

    def start(app: FastAPI) -> str:
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, ws="none"))
        listener = socket.create_server(("127.0.0.1", 0))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        running.append((server, thread, listener))
        while not server.started and thread.is_alive():
            time.sleep(0.01)
        assert server.started, "the app did not start; see its log"
        return f"http://127.0.0.1:{listener.getsockname()[1]}"

    yield start
    for server, thread, listener in running:
        server.should_exit = True
        thread.join(20)
        listener.close()


@pytest_asyncio.fixture(scope="session")
async def api_url(server_url: str, template: str, serve: Serve) -> AsyncIterator[str]:
    """URL of the real API with the default model, on a database that the tests of a run share.

    Tests keep apart by collections of their own.
    """
    from ragbase.main import create_app
    from ragbase.settings import Settings

    # No log lines on the standard output that tests of commands read.
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    async with temporary_database(server_url, f"TEMPLATE {template} STRATEGY file_copy") as url:
        app = create_app(Settings(database_url=url, pool_min=0))  # type: ignore[arg-type]
        yield await asyncio.to_thread(serve, app)
