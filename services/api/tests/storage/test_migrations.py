"""`migrate` brings any database to the present schema, once, whoever calls it how often."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

import asyncpg
import pytest

from ragbase.errors import ConfigurationError, DatabaseUnavailableError
from ragbase.storage.migrations import check_schema, migrate
from ragbase.storage.migrations import run as migrations
from ragbase.storage.pool import Connection, Database

CONTRACT = {
    "documents": {"id", "title", "content", "metadata", "created_at", "updated_at"},
    "chunks": {
        "id",
        "document_id",
        "chunk_index",
        "content",
        "indexed_content",
        "token_count",
        "metadata",
        "created_at",
    },
}


async def run(url: str, *statements: str) -> list[asyncpg.Record]:
    """Rows of the last statement, over a plain connection."""
    connection = await asyncpg.connect(url)
    try:
        for statement in statements[:-1]:
            await connection.execute(statement)
        return await connection.fetch(statements[-1])
    finally:
        await connection.close()


async def state(url: str) -> str:
    connection = await asyncpg.connect(url)
    try:
        return (await check_schema(connection)).status
    finally:
        await connection.close()


async def test_an_empty_database_becomes_current_and_a_second_run_does_nothing(
    empty_database_url: str,
) -> None:
    assert await state(empty_database_url) == "empty"
    first = await migrate(empty_database_url)
    assert (first.before, first.changed, first.dialect, first.adopted) == ((), True, "native", None)
    assert await state(empty_database_url) == "current"
    second = await migrate(empty_database_url)
    assert (second.before, second.changed) == (first.after, False)


async def test_replicas_that_start_together_migrate_once(empty_database_url: str) -> None:
    reports = await asyncio.gather(*(migrate(empty_database_url) for _ in range(4)))
    assert sorted(report.changed for report in reports) == [False, False, False, True]
    assert await state(empty_database_url) == "current"


async def test_tables_keep_the_columns_that_people_query(connection: Connection) -> None:
    for table, columns in CONTRACT.items():
        rows = await connection.fetch(
            "SELECT column_name FROM information_schema.columns WHERE table_name = $1", table
        )
        assert columns <= {row[0] for row in rows}
    document = await connection.fetchval(
        "INSERT INTO documents (title, content) VALUES ('t', 'c') RETURNING id"
    )
    await connection.execute(
        "INSERT INTO chunks (document_id, chunk_index, content, indexed_content) "
        "VALUES ($1, 0, 'c', 'c')",
        document,
    )
    assert await connection.fetchval("SELECT name FROM collections WHERE id = 1") == "default"


async def test_updated_at_moves_with_every_update(connection: Connection) -> None:
    before = await connection.fetchrow(
        "INSERT INTO documents (title, content) VALUES ('t', 'c') RETURNING *"
    )
    after = await connection.fetchrow("UPDATE documents SET title = 'u' RETURNING *")
    assert before is not None
    assert after is not None
    assert after["updated_at"] > before["updated_at"]
    assert after["created_at"] == before["created_at"]


async def test_a_schema_of_a_newer_version_is_refused(database_url: str) -> None:
    await run(
        database_url,
        "UPDATE alembic_version SET version_num = 'core_9999' WHERE version_num ~ '^core'",
    )
    assert await state(database_url) == "ahead"
    with pytest.raises(ConfigurationError, match=r"newer RagBase \(revision core_9999\)"):
        await migrate(database_url)


async def test_a_schema_without_its_dialect_is_behind(database_url: str) -> None:
    await run(database_url, "DELETE FROM alembic_version WHERE version_num ~ '^native'")
    assert await state(database_url) == "behind"


async def test_an_unknown_dialect_is_refused(empty_database_url: str) -> None:
    with pytest.raises(ConfigurationError, match="Unknown keyword dialect 'lucene'"):
        await migrate(empty_database_url, dialect="lucene")


async def test_a_dialect_that_cannot_be_set_up_changes_nothing(empty_database_url: str) -> None:
    available = await run(
        empty_database_url, "SELECT FROM pg_available_extensions WHERE name = 'pg_search'"
    )
    if available:
        pytest.skip("this server has pg_search")
    with pytest.raises(ConfigurationError, match="pg_search"):
        await migrate(empty_database_url, dialect="paradedb")
    assert await state(empty_database_url) == "empty"
    assert (await migrate(empty_database_url)).dialect == "native"


async def test_a_stopped_migration_leaves_the_database_as_it_was(
    empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = [("upgrade", "core@head"), ("upgrade", "no_such_revision")]
    monkeypatch.setattr(migrations, "_steps", lambda applied, dialect: steps)
    with pytest.raises(Exception, match="no_such_revision"):
        await migrate(empty_database_url)
    tables = "SELECT FROM pg_tables WHERE schemaname = 'public'"
    assert await run(empty_database_url, tables) == []


async def test_a_stuck_migration_is_not_waited_for_for_ever(database_url: str) -> None:
    holder = await asyncpg.connect(database_url)
    try:
        await holder.execute(f"SELECT pg_advisory_lock({migrations._LOCK})")
        with pytest.raises(DatabaseUnavailableError, match="has not ended"):
            await migrate(database_url, lock_timeout_s=0.3)
    finally:
        await holder.close()


async def test_tables_of_another_program_are_left_alone(empty_database_url: str) -> None:
    await run(
        empty_database_url,
        "CREATE TABLE documents (id uuid PRIMARY KEY, body text)",
        "INSERT INTO documents VALUES (gen_random_uuid(), 'invoice')",
    )
    with pytest.raises(ConfigurationError, match=r"table documents that is not RagBase's"):
        await migrate(empty_database_url)
    assert len(await run(empty_database_url, "SELECT * FROM documents")) == 1


async def test_a_role_without_rights_is_told_what_to_ask_for(empty_database_url: str) -> None:
    role = f"weak_{urlsplit(empty_database_url).path[-8:]}"
    await run(empty_database_url, f"CREATE ROLE {role} LOGIN PASSWORD 'weak'")
    parts = urlsplit(empty_database_url)
    host = parts.netloc.rpartition("@")[2]
    weak = parts._replace(netloc=f"{role}:weak@{host}").geturl()
    try:
        with pytest.raises(ConfigurationError, match="CREATE EXTENSION IF NOT EXISTS vector"):
            await migrate(weak)
        await run(empty_database_url, "CREATE EXTENSION vector")
        with pytest.raises(ConfigurationError, match="lacks a right"):
            await migrate(weak)
    finally:
        await run(empty_database_url, f"DROP ROLE {role}")


async def test_a_pool_opened_before_the_migration_learns_the_types(
    empty_database_url: str,
) -> None:
    async with await Database.open(empty_database_url, min_size=0) as database:
        await migrate(empty_database_url)
        async with database.read() as connection:
            assert list(await connection.fetchval("SELECT '[1,2]'::vector")) == [1, 2]
