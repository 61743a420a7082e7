"""Compares the schema of a database with the one this version of RagBase needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import asyncpg

from ragbase.storage.migrations.scripts import CORE, DIALECTS, branch_head, branch_of, closure

__all__ = ["SchemaState", "applied_dialects", "check_schema", "read_revisions"]

Status = Literal["empty", "behind", "current", "ahead"]


@dataclass(frozen=True, slots=True)
class SchemaState:
    """``ahead``: a newer RagBase has migrated it. ``dialect``: the keyword dialect set up."""

    status: Status
    revisions: tuple[str, ...]
    dialect: str | None


async def read_revisions(connection: asyncpg.Connection) -> tuple[str, ...]:
    """Revisions noted in the database, sorted; none where it is new."""
    if await connection.fetchval("SELECT to_regclass('alembic_version')") is None:
        return ()
    rows = await connection.fetch("SELECT version_num FROM alembic_version ORDER BY 1")
    return tuple(row[0] for row in rows)


def applied_dialects(revisions: tuple[str, ...]) -> tuple[str, ...]:
    """Dialect branches that are set up, in the order of `DIALECTS`."""
    present = {branch_of(revision) for revision in revisions}
    return tuple(dialect for dialect in DIALECTS if dialect in present)


async def check_schema(connection: asyncpg.Connection) -> SchemaState:
    """State of the schema; one or two cheap statements."""
    revisions = await read_revisions(connection)
    dialects = applied_dialects(revisions)
    dialect = dialects[0] if dialects else None
    if not revisions:
        status: Status = "empty"
    elif any(branch_of(revision) is None for revision in revisions):
        status = "ahead"
    elif not _complete(revisions, dialect) or await _adopting(connection):
        status = "behind"
    else:
        status = "current"
    return SchemaState(status, revisions, dialect)


def _complete(revisions: tuple[str, ...], dialect: str | None) -> bool:
    applied = closure(revisions)
    if branch_head(CORE) not in applied:
        return False
    if dialect is None:
        return not any(branch_head(name) for name in DIALECTS)
    return branch_head(dialect) in applied


async def _adopting(connection: asyncpg.Connection) -> bool:
    return bool(await connection.fetchval("SELECT EXISTS (SELECT FROM adoption)"))
