"""`migrate`: bring a database to the schema of this version, whatever state it is in."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import asyncpg

from ragbase.errors import ConfigurationError, DatabaseUnavailableError
from ragbase.storage.connect import single_connection
from ragbase.storage.migrations.adopt import Adopted, adopt
from ragbase.storage.migrations.requirements import choose_dialect, ensure_requirements
from ragbase.storage.migrations.scripts import (
    CORE,
    DIALECTS,
    branch_head,
    branch_of,
    closure,
)
from ragbase.storage.migrations.state import applied_dialects, read_revisions

__all__ = ["ADOPTED_MODEL", "MigrationReport", "migrate"]

ADOPTED_MODEL = "Snowflake/snowflake-arctic-embed-l-v2.0"
"""The model whose vectors the original stored, without noting its name anywhere."""

_LOCK = 0x7261_6762_6173_65
"""Key of the advisory lock: "ragbase" in ASCII."""


_SETTINGS = {"application_name": "ragbase-migrate", "statement_timeout": "0"}


@dataclass(frozen=True, slots=True)
class MigrationReport:
    """What `migrate` found and did; ``before == after`` and no ``adopted``: nothing."""

    before: tuple[str, ...]
    after: tuple[str, ...]
    dialect: str
    adopted: Adopted | None
    seconds: float

    @property
    def changed(self) -> bool:
        """Whether the database is different now."""
        return self.before != self.after or self.adopted is not None


async def migrate(
    dsn: str,
    *,
    dialect: str = "auto",
    analyse: Callable[[str], str] | None = None,
    adopt_model: str = ADOPTED_MODEL,
    hnsw_m: int = 16,
    hnsw_ef_construction: int = 64,
    connect_timeout_s: float = 30.0,
    lock_timeout_s: float = 1800.0,
) -> MigrationReport:
    """Run what is missing; safe to call at every start and from several replicas at once.

    ``dialect`` is ``auto``, ``native`` or ``paradedb``; a change of dialect takes the other one
    down. ``analyse`` turns indexed text into its analysed terms, joined by spaces; a database of
    the original cannot be adopted without it. Its vectors are taken to be of ``adopt_model``.

    Raises `ConfigurationError` when a person must act, `DatabaseUnavailableError` when the
    server is away or another migration holds the lock for ``lock_timeout_s``.
    """
    started = time.monotonic()
    async with (
        single_connection(dsn, wait_s=connect_timeout_s, settings=_SETTINGS) as connection,
        _lock(connection, lock_timeout_s),
    ):
        before = await read_revisions(connection)
        _refuse_newer(before)
        await ensure_requirements(connection)
        chosen = await choose_dialect(connection, dialect, before)
        await _run_revisions(dsn, before, chosen)
        adopted = await adopt(
            connection,
            analyse=analyse,
            model=adopt_model,
            hnsw_m=hnsw_m,
            hnsw_ef_construction=hnsw_ef_construction,
        )
        after = await read_revisions(connection)
    return MigrationReport(before, after, chosen, adopted, time.monotonic() - started)


def _refuse_newer(revisions: tuple[str, ...]) -> None:
    unknown = [revision for revision in revisions if branch_of(revision) is None]
    if unknown:
        raise ConfigurationError(
            f"The database was migrated by a newer RagBase (revision {', '.join(unknown)}). "
            "Run that version, or restore a backup made before."
        )


async def _run_revisions(dsn: str, applied: tuple[str, ...], dialect: str) -> None:
    steps = _steps(applied, dialect)
    if not steps:
        return
    from ragbase.storage.migrations.revise import revise

    try:
        await revise(dsn, steps)
    except Exception as error:
        _explain(error)
        raise


def _steps(applied: tuple[str, ...], dialect: str) -> list[tuple[str, str]]:
    """Alembic commands and targets: core up, the other dialect down, this dialect up."""
    if dialect not in DIALECTS:
        raise ConfigurationError(
            f"Unknown keyword dialect {dialect!r}; there are {', '.join(DIALECTS)}."
        )
    done = closure(applied)
    head = branch_head(dialect)
    steps = [("upgrade", f"{CORE}@head")] if branch_head(CORE) not in done else []
    others = [other for other in applied_dialects(applied) if other != dialect]
    steps += [("downgrade", f"{other}@base") for other in others]
    if head is not None and head not in done:
        steps.append(("upgrade", f"{dialect}@head"))
    return steps


def _explain(error: Exception) -> None:
    """Turn a lack of rights into advice; other errors are left to the caller."""
    cause: Any = error
    while cause is not None and not isinstance(cause, asyncpg.InsufficientPrivilegeError):
        cause = cause.__cause__
    if cause is not None:
        raise ConfigurationError(
            f"The database role lacks a right: {cause}. Run `ragbase migrate` with a DATABASE_URL "
            "of the tables' owner, or make this role their owner."
        ) from error


@asynccontextmanager
async def _lock(connection: asyncpg.Connection, timeout_s: float) -> AsyncIterator[None]:
    """Hold the migration lock of this database; polled, because a blocked statement would hold
    a snapshot that index builds of the other migration then wait for.
    """
    deadline = time.monotonic() + timeout_s
    while not await connection.fetchval("SELECT pg_try_advisory_lock($1)", _LOCK):
        if time.monotonic() > deadline:
            raise DatabaseUnavailableError(
                f"Another migration of this database has not ended within {timeout_s:g} s."
            )
        await asyncio.sleep(0.2)
    try:
        yield
    finally:
        if not connection.is_closed():
            await connection.execute("SELECT pg_advisory_unlock($1)", _LOCK)
