"""The pool's settings survive re-use, its errors are ours, and it outlives a restart."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import numpy as np
import pytest

from ragbase.embedded import FAST_SETTINGS, EmbeddedPostgres
from ragbase.errors import (
    ConfigurationError,
    DatabaseUnavailableError,
    DeadlineExceededError,
    OverloadedError,
)
from ragbase.storage.pool import Database
from ragbase.telemetry.metrics import REGISTRY


@pytest.fixture
def own_server(state_dir: Path) -> Iterator[EmbeddedPostgres]:
    """A server that the test may stop."""
    with EmbeddedPostgres(state_dir / "pool" / "postgres", settings=FAST_SETTINGS) as server:
        yield server


async def test_every_connection_has_the_session_settings(database_url: str) -> None:
    names = ["plan_cache_mode", "hnsw.ef_search", "hnsw.iterative_scan", "jit", "statement_timeout"]
    async with await Database.open(database_url, min_size=1, max_size=1) as db:
        for _ in range(3):
            async with db.read() as connection:
                await connection.fetchval("SELECT '[1]'::vector <=> '[1]'")
                values = [await connection.fetchval("SELECT current_setting($1)", n) for n in names]
                assert values == ["force_custom_plan", "100", "strict_order", "off", "30s"]
                await connection.execute("RESET ALL")


async def test_a_transaction_left_open_ends_with_the_block(database_url: str) -> None:
    async with await Database.open(database_url, min_size=1, max_size=1) as db:
        async with db.read() as connection:
            await connection.execute("BEGIN; CREATE TABLE half (id int); SET LOCAL jit = on")
        async with db.read() as connection:
            assert await connection.fetchval("SELECT to_regclass('half')") is None
            assert await connection.fetchval("SHOW jit") == "off"


async def test_values_cross_the_wire_unchanged(db: Database) -> None:
    vector = np.array([0.1, -2.5, 3e-8], dtype=np.float32)
    document = {"a": [1, 2.5, None, "ü"], "b": {"c": True}}
    async with db.read() as connection:
        row = await connection.fetchrow("SELECT $1::vector, $2::jsonb", vector, document)
    assert row is not None
    assert row[0].dtype == np.float32
    assert np.array_equal(row[0], vector)
    assert row[1] == document


async def test_a_transaction_is_undone_by_an_error(db: Database) -> None:
    async with db.read() as connection:
        await connection.execute("CREATE TABLE things (id int PRIMARY KEY)")

    async def break_half_way() -> None:
        async with db.transaction() as connection:
            await connection.execute("INSERT INTO things VALUES (1)")
            raise ValueError("half way")

    with pytest.raises(ValueError, match="half way"):
        await break_half_way()
    async with db.read() as connection:
        assert await connection.fetchval("SELECT count(*) FROM things") == 0


async def test_errors_of_statements_pass_through(db: Database) -> None:
    async with db.read() as connection:
        await connection.execute("CREATE TABLE things (id int PRIMARY KEY)")
        await connection.execute("INSERT INTO things VALUES (1)")
    with pytest.raises(asyncpg.UniqueViolationError):
        async with db.transaction() as connection:
            await connection.execute("INSERT INTO things VALUES (1)")
    with pytest.raises(asyncpg.InterfaceError, match="expects 1 argument"):
        async with db.read() as connection:
            await connection.fetchval("SELECT $1::int")


async def test_a_slow_statement_is_ended_and_writers_get_longer(database_url: str) -> None:
    async with await Database.open(
        database_url, statement_timeout_s=0.1, write_timeout_s=5
    ) as database:
        with pytest.raises(DeadlineExceededError):
            async with database.read() as connection:
                await connection.execute("SELECT pg_sleep(5)")
        async with database.transaction() as connection:
            await connection.execute("SELECT pg_sleep(0.3)")


async def test_an_exhausted_pool_is_unavailable_not_a_hang(database_url: str) -> None:
    async with (
        await Database.open(database_url, max_size=1, acquire_timeout_s=0.1) as database,
        database.read(),
    ):
        assert (database.in_use, database.size) == (1, 1)
        with pytest.raises(DatabaseUnavailableError):
            async with database.read():
                pass


async def test_a_restarted_server_is_found_again(own_server: EmbeddedPostgres) -> None:
    async with await Database.open(own_server.dsn, min_size=2, max_size=4) as database:
        async with database.read() as first, database.read() as second:
            assert await first.fetchval("SELECT 1") + await second.fetchval("SELECT 1") == 2
        await asyncio.to_thread(own_server.stop)
        with pytest.raises(DatabaseUnavailableError):
            await database.ping()
        await asyncio.to_thread(own_server.start)
        for _ in range(4):
            await database.ping()


async def test_a_server_that_dies_under_a_statement_is_unavailable(
    own_server: EmbeddedPostgres,
) -> None:
    async with await Database.open(own_server.dsn) as database:

        async def hold() -> None:
            async with database.transaction() as connection:
                await connection.execute("SELECT pg_sleep(30)")

        running = asyncio.create_task(hold())
        await asyncio.sleep(0.2)
        await asyncio.to_thread(own_server.stop)
        with pytest.raises(DatabaseUnavailableError):
            await running


async def test_the_start_waits_for_the_server(own_server: EmbeddedPostgres) -> None:
    dsn = own_server.dsn
    own_server.stop()
    opening = asyncio.create_task(Database.open(dsn, start_timeout_s=20))
    await asyncio.sleep(0.3)
    assert not opening.done()
    await asyncio.to_thread(own_server.start)
    async with await opening as database:
        await database.ping()


async def test_the_start_gives_up_in_time(state_dir: Path) -> None:
    started = time.monotonic()
    with pytest.raises(DatabaseUnavailableError):
        await Database.open(f"postgresql:///x?host={state_dir}&user=x", start_timeout_s=0.4)
    assert time.monotonic() - started < 3


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda url: url.replace("/ragbase_test_", "/absent_"), "does not exist"),
        (lambda url: url.replace("ragbase@", "stranger@"), "stranger"),
        (lambda url: "mysql://localhost/x", "not valid"),
    ],
    ids=["database", "role", "scheme"],
)
async def test_a_wrong_address_is_told_at_once(database_url: str, change, words: str) -> None:
    started = time.monotonic()
    with pytest.raises(ConfigurationError, match=words):
        await Database.open(change(database_url), start_timeout_s=20)
    assert time.monotonic() - started < 5


async def test_writers_leave_connections_to_readers(database_url: str) -> None:
    """B061: as many slow writers as there are connections, and reads still go on."""
    waiting = REGISTRY.get_sample_value("ragbase_db_pool_wait_seconds_count") or 0
    async with await Database.open(database_url, max_size=4, acquire_timeout_s=0.3) as db:
        done = asyncio.Event()
        holding = 0

        async def write() -> None:
            nonlocal holding
            async with db.transaction():
                holding += 1
                await done.wait()

        writers = [asyncio.create_task(write()) for _ in range(4)]
        refused, _ = await asyncio.wait(writers, timeout=5, return_when=asyncio.FIRST_EXCEPTION)
        assert holding == 2
        assert db.in_use == 2
        assert isinstance(refused.pop().exception(), OverloadedError)
        for _ in range(3):
            await db.ping()
        done.set()
        outcomes = await asyncio.gather(*writers, return_exceptions=True)
    assert sum(isinstance(outcome, OverloadedError) for outcome in outcomes) == 2
    assert REGISTRY.get_sample_value("ragbase_db_pool_wait_seconds_count") >= waiting + 5
