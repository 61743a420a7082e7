"""The native dialect can be set up and taken down beside existing chunks."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import asyncpg
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import Connection as SyncConnection
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from ragbase.retrieval.lexical.native import NativeDialect
from ragbase.storage import migrations
from ragbase.storage.pool import Connection


def revision() -> ModuleType:
    path = Path(migrations.__file__).parent / "versions" / "native_0001_postings.py"
    spec = importlib.util.spec_from_file_location("native_0001", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


async def run(url: str, step: Callable[[], None]) -> None:
    def inside(connection: SyncConnection) -> None:
        with Operations.context(MigrationContext.configure(connection)):
            step()

    engine = create_async_engine(
        "postgresql+asyncpg://", async_creator=lambda: asyncpg.connect(url), poolclass=NullPool
    )
    try:
        async with engine.begin() as connection:
            await connection.run_sync(inside)
    finally:
        await engine.dispose()


async def test_chunks_from_before_are_indexed(
    shelf, connection: Connection, database_url: str
) -> None:
    dialect = NativeDialect()
    await shelf.add(["ice sea", "", "ice rock"])
    expected = await dialect.search(connection, ["ice", "sea"], [1], depth=5)
    await run(database_url, revision().downgrade)
    assert await connection.fetchval("SELECT to_regclass('postings')") is None
    left = await connection.fetch("SELECT proname FROM pg_proc WHERE proname LIKE 'lexical%'")
    assert left == []
    await connection.execute("DELETE FROM chunks WHERE lexical_text = ''")
    added = await shelf.add([""])
    await run(database_url, revision().upgrade)
    assert await dialect.search(connection, ["ice", "sea"], [1], depth=5) == expected
    assert await dialect.prepare(connection) == []
    await connection.execute("UPDATE chunks SET lexical_text = 'moss' WHERE id = $1", added[0])
    hits = await dialect.search(connection, ["moss"], [1], depth=5)
    assert [hit.chunk_id for hit in hits] == added
