"""What a database must offer before any revision runs, and what to do when it does not."""

from __future__ import annotations

import asyncpg

from ragbase.errors import ConfigurationError
from ragbase.storage.migrations.state import applied_dialects

__all__ = ["choose_dialect", "ensure_requirements"]

POSTGRES_MIN = 150000
PGVECTOR_MIN = (0, 8)
"""Iterative index scans, without which a filtered vector search loses rows, came with 0.8."""

CONTRACT_COLUMNS = {
    "documents": {"id", "title", "content", "metadata", "created_at", "updated_at"},
    "chunks": {"id", "document_id", "chunk_index", "content", "indexed_content", "token_count"},
}


async def ensure_requirements(connection: asyncpg.Connection) -> None:
    """Check the server, create or update pgvector, refuse tables that are somebody else's."""
    version = int(await connection.fetchval("SHOW server_version_num"))
    if version < POSTGRES_MIN:
        raise ConfigurationError(
            f"Postgres {version // 10000} is too old; RagBase needs {POSTGRES_MIN // 10000} or newer."
        )
    await _ensure_pgvector(connection)
    await _refuse_foreign_tables(connection)


async def choose_dialect(
    connection: asyncpg.Connection, choice: str, revisions: tuple[str, ...]
) -> str:
    """The keyword dialect to set up: ``choice``, or for ``auto`` the one that is there already,
    else ``paradedb`` where pg_search can be had, else ``native``.
    """
    available = await connection.fetchval(
        "SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'pg_search')"
    )
    if choice == "paradedb" and not available:
        raise ConfigurationError(
            "RAGBASE_LEXICAL=paradedb needs the extension pg_search, which this Postgres server "
            "does not have. Use the ParadeDB image, or RAGBASE_LEXICAL=native."
        )
    if choice != "auto":
        return choice
    applied = applied_dialects(revisions)
    if applied:
        return applied[0]
    return "paradedb" if available else "native"


async def _ensure_pgvector(connection: asyncpg.Connection) -> None:
    row = await connection.fetchrow(
        "SELECT default_version, installed_version FROM pg_available_extensions "
        "WHERE name = 'vector'"
    )
    if row is None:
        raise ConfigurationError(
            "The Postgres server has no pgvector. Install it there (package "
            "`postgresql-<version>-pgvector`, or the images of pgvector and ParadeDB)."
        )
    if row["installed_version"] is None:
        await _as_extension_owner(connection, "CREATE EXTENSION IF NOT EXISTS vector")
    elif _numbers(row["installed_version"]) < PGVECTOR_MIN <= _numbers(row["default_version"]):
        await _as_extension_owner(connection, "ALTER EXTENSION vector UPDATE")
    elif _numbers(row["installed_version"]) < PGVECTOR_MIN:
        raise ConfigurationError(
            f"pgvector {row['installed_version']} is too old; RagBase needs "
            f"{'.'.join(map(str, PGVECTOR_MIN))} or newer."
        )


async def _as_extension_owner(connection: asyncpg.Connection, statement: str) -> None:
    try:
        await connection.execute(statement)
    except asyncpg.InsufficientPrivilegeError as error:
        role, database = await connection.fetchrow(  # type: ignore[misc]  # one row always
            "SELECT current_user, current_database()"
        )
        raise ConfigurationError(
            f"Role {role} may not set up pgvector. Ask an administrator to run "
            f"`{statement};` in database {database}, then start again."
        ) from error


async def _refuse_foreign_tables(connection: asyncpg.Connection) -> None:
    for table, needed in CONTRACT_COLUMNS.items():
        rows = await connection.fetch(
            "SELECT attname FROM pg_attribute "
            "WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped",
            table,
        )
        columns = {row[0] for row in rows}
        if columns and not needed <= columns:
            raise ConfigurationError(
                f"The database holds a table {table} that is not RagBase's "
                f"(it lacks {', '.join(sorted(needed - columns))}). Use another database."
            )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])
