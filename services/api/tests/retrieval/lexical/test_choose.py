"""Which dialect is opened, and what the refusal says."""

from __future__ import annotations

from pathlib import Path

import asyncpg
import pytest

from ragbase.errors import ConfigurationError
from ragbase.retrieval.lexical import open_dialect
from ragbase.storage.pool import Connection

EMULATION = Path(__file__).parent / "emulated_pg_search.sql"


async def test_auto_is_native_without_pg_search(connection: Connection) -> None:
    assert (await open_dialect(connection, "auto")).name == "native"


async def test_auto_is_paradedb_where_its_index_is(connection: Connection) -> None:
    await connection.execute(EMULATION.read_text(encoding="utf-8"))
    assert (await open_dialect(connection, "auto")).name == "paradedb"
    assert (await open_dialect(connection, "native")).name == "native"


async def test_auto_is_native_where_only_its_tables_are(connection: Connection) -> None:
    """pg_search may be installed for something else."""
    await connection.execute(EMULATION.read_text(encoding="utf-8"))
    await connection.execute("DROP INDEX chunks_bm25")
    assert (await open_dialect(connection, "auto")).name == "native"
    with pytest.raises(ConfigurationError, match="ragbase migrate"):
        await open_dialect(connection, "paradedb")


async def test_paradedb_without_its_extension_says_what_to_do(connection: Connection) -> None:
    with pytest.raises(ConfigurationError, match=r"pg_search.*RAGBASE_LEXICAL=native"):
        await open_dialect(connection, "paradedb")


@pytest.mark.parametrize("choice", ["auto", "native"])
async def test_an_unmigrated_database_says_what_to_do(empty_database_url: str, choice: str) -> None:
    connection = await asyncpg.connect(empty_database_url)
    try:
        with pytest.raises(ConfigurationError, match="ragbase migrate"):
            await open_dialect(connection, choice)  # type: ignore[arg-type]
    finally:
        await connection.close()
