"""One state of the whole database: shared with other sessions, counted and summed table by table."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import asyncpg

from ragbase.storage.connect import single_connection
from ragbase.storage.migrations.state import applied_dialects, read_revisions

__all__ = [
    "DatabaseFacts",
    "TableFigures",
    "checking_connection",
    "exported_snapshot",
    "hash_probe",
    "read_facts",
    "server_major",
    "table_figures",
    "table_names",
]

_SESSION = {
    "application_name": "ragbase-backup",
    "statement_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    # One of two sessions may be idle for as long as a dump takes.
    "tcp_keepalives_idle": "60",
    # The checksums are of rows as text: how text is written must not depend on the server.
    "timezone": "UTC",
    "datestyle": "ISO, YMD",
    "intervalstyle": "postgres",
    "bytea_output": "hex",
    "extra_float_digits": "1",
    "xmloption": "content",
}

_TABLES = """
SELECT format('%I.%I', n.nspname, c.relname)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND c.relpersistence <> 't'
    AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
    AND NOT EXISTS (
        SELECT FROM pg_depend d
        WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'
    )
ORDER BY 1
"""

_FIGURES = "SELECT count(*), coalesce(sum(hashtextextended(t::text, 0)), 0)::text FROM ONLY {} t"


@dataclass(frozen=True, slots=True)
class TableFigures:
    """``checksum`` is the sum of a 64-bit hash of each row's text: the order does not matter."""

    rows: int
    checksum: str


@dataclass(frozen=True, slots=True)
class DatabaseFacts:
    """What a backup says about its source; ``models`` are names and dimensions."""

    postgres: str
    major: int
    extensions: dict[str, str]
    revisions: tuple[str, ...]
    dialect: str | None
    models: dict[str, int]


@asynccontextmanager
async def exported_snapshot(
    dsn: str, *, wait_s: float
) -> AsyncIterator[tuple[asyncpg.Connection, str]]:
    """A connection in a read-only transaction, and the name of its snapshot for other sessions.

    Works on a replica too. The snapshot lasts as long as the block.
    """
    async with (
        single_connection(dsn, wait_s=wait_s, settings=_SESSION) as connection,
        connection.transaction(isolation="repeatable_read", readonly=True),
    ):
        yield connection, await connection.fetchval("SELECT pg_export_snapshot()")


@asynccontextmanager
async def checking_connection(dsn: str, *, wait_s: float) -> AsyncIterator[asyncpg.Connection]:
    """A connection whose figures can be compared with those of a snapshot."""
    async with single_connection(dsn, wait_s=wait_s, settings=_SESSION) as connection:
        yield connection


async def table_names(connection: asyncpg.Connection) -> list[str]:
    """All tables but those of extensions and of Postgres itself, quoted, with their schema."""
    return [row[0] for row in await connection.fetch(_TABLES)]


async def table_figures(connection: asyncpg.Connection, table: str) -> TableFigures:
    """Reads the whole table; ``table`` must come from `table_names`."""
    row = await connection.fetchrow(_FIGURES.format(table))
    assert row is not None
    return TableFigures(*row)


async def hash_probe(connection: asyncpg.Connection) -> int:
    """Checksums can be compared only where this is equal.

    Postgres does not promise its hash to be the same in other major versions and processors.
    """
    probe: int = await connection.fetchval("SELECT hashtextextended('RagBase: Größe 漢字', 0)")
    return probe


async def server_major(connection: asyncpg.Connection) -> int:
    """Like 18."""
    major: int = await connection.fetchval(
        "SELECT current_setting('server_version_num')::int / 10000"
    )
    return major


async def read_facts(connection: asyncpg.Connection) -> DatabaseFacts:
    """Versions, schema and models."""
    version = await connection.fetchval(
        "SELECT split_part(current_setting('server_version'), ' ', 1)"
    )
    extensions = await connection.fetch(
        "SELECT extname, extversion FROM pg_extension WHERE extname <> 'plpgsql' ORDER BY 1"
    )
    revisions = await read_revisions(connection)
    models = (
        await connection.fetch("SELECT name, dimension FROM embedding_models ORDER BY id")
        if revisions
        else []
    )
    dialects = applied_dialects(revisions)
    return DatabaseFacts(
        postgres=version,
        major=await server_major(connection),
        extensions={row[0]: row[1] for row in extensions},
        revisions=revisions,
        dialect=dialects[0] if dialects else None,
        models={row[0]: row[1] for row in models},
    )
