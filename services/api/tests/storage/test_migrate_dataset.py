"""The revision that brings the second API's files: on filled databases, its own and the original's."""

from __future__ import annotations

import asyncpg
import pytest_asyncio

from ragbase.storage.migrations import check_schema, migrate
from ragbase.storage.migrations.revise import revise

ORIGINAL = """
    CREATE EXTENSION IF NOT EXISTS vector;
    CREATE TABLE dataset (
        id serial PRIMARY KEY, file_id varchar(32) NOT NULL, folder_id varchar(32),
        context text NOT NULL, context_embedding vector(384),
        content text NOT NULL, content_embedding vector(384)
    );
    INSERT INTO dataset (file_id, context, content) VALUES ('f', 'where', 'what');
"""


@pytest_asyncio.fixture
async def connection(empty_database_url: str):
    """One connection to a database without any schema."""
    connection = await asyncpg.connect(empty_database_url)
    yield connection
    await connection.close()


async def test_a_filled_store_is_upgraded_and_taken_down_again(
    empty_database_url: str, connection: asyncpg.Connection
) -> None:
    """L28: documents that are there stay; those of `localrag` are seen through the view."""
    await migrate(empty_database_url, dialect="native")
    await revise(empty_database_url, [("downgrade", "core_0006")])
    await connection.execute(
        "INSERT INTO collections (name) VALUES ('localrag');"
        "INSERT INTO documents (title, content, external_id, metadata, collection_id) "
        "SELECT 't', 'a b', 'file', '{\"folder_id\": \"f\"}', id FROM collections "
        "WHERE name = 'localrag';"
        "INSERT INTO documents (title, content) VALUES ('other', 'c');"
        "INSERT INTO chunks (document_id, collection_id, chunk_index, content, indexed_content) "
        "SELECT id, collection_id, 0, content, content FROM documents"
    )
    report = await migrate(empty_database_url, dialect="native")
    assert report.changed
    assert (await check_schema(connection)).status == "current"
    rows = await connection.fetch("SELECT file_id, folder_id, context, content FROM dataset")
    assert [tuple(row) for row in rows] == [("file", "f", "a b", "a b")]
    await revise(empty_database_url, [("downgrade", "core_0006")])
    assert await connection.fetchval("SELECT to_regclass('dataset')") is None
    assert await connection.fetchval("SELECT count(*) FROM documents") == 2


async def test_the_originals_table_is_kept_under_another_name(
    empty_database_url: str, connection: asyncpg.Connection
) -> None:
    """L28: nothing of it is lost, and nothing stands in the view's way."""
    await connection.execute(ORIGINAL)
    await migrate(empty_database_url, dialect="native")
    assert await connection.fetchval("SELECT count(*) FROM dataset") == 0
    rows = await connection.fetch("SELECT file_id, context, content FROM dataset_original")
    assert [tuple(row) for row in rows] == [("f", "where", "what")]
    assert (await migrate(empty_database_url, dialect="native")).changed is False
