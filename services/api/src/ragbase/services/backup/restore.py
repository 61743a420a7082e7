"""Restores a backup into an empty database: all of it, checked, or nothing."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import ragbase
from ragbase.errors import BackupError, ConfigurationError, ConflictError, RagBaseError
from ragbase.retrieval.lexical import open_dialect
from ragbase.services.backup.manifest import DUMP, Manifest, check_files, read_manifest
from ragbase.services.backup.place import Place, Progress, Report, silent
from ragbase.storage.contents import (
    drop_everything,
    find_contents,
    missing_extensions,
    our_sessions,
)
from ragbase.storage.dump import count_entries, load_database, vacuum_tables
from ragbase.storage.graph_outbox import begin_epoch
from ragbase.storage.migrations.scripts import branch_of
from ragbase.storage.pg_tools import PgTools, find_tools
from ragbase.storage.pool import Connection
from ragbase.storage.snapshot import (
    checking_connection,
    hash_probe,
    server_major,
    table_figures,
    table_names,
)

if TYPE_CHECKING:
    from ragbase.storage.migrations import MigrationReport

__all__ = ["MEMORY_MB", "Restored", "restore"]

MEMORY_MB = 512
"""For building indexes: HNSW gets far slower once its graph no longer fits."""

Migrate = Callable[[], Awaitable["MigrationReport"]]


@dataclass(frozen=True, slots=True)
class Restored:
    """``verified``: rows and checksums of all tables were those of the manifest; ``counted``: only
    rows could be compared, as this server computes other hashes. ``healed``: what the keyword
    dialect had to do; ``migrated``: the schema was brought up to date.
    """

    path: Path
    manifest: Manifest
    verified: bool
    migrated: bool
    healed: tuple[str, ...]
    seconds: float


async def restore(
    place: Place,
    path: Path,
    *,
    migrate: Migrate,
    memory_mb: int = MEMORY_MB,
    workers: int = 0,
    report: Report = silent,
) -> Restored:
    """Load the backup in folder ``path``, verify it, and bring its schema up to date.

    ``migrate`` migrates the same database. ``memory_mb`` and ``workers`` are for building indexes
    (``maintenance_work_mem``, ``max_parallel_maintenance_workers``).

    Raises `ConflictError` where something stands in the way, `BackupError` for a backup that
    cannot be used; the database is empty then, as it was before.
    """
    started = time.monotonic()
    manifest = read_manifest(path)
    _refuse_newer(manifest)
    tools, server = await _prepare(place, path, manifest, report)
    settings = {
        "maintenance_work_mem": f"{memory_mb}MB",
        "max_parallel_maintenance_workers": str(workers),
        "synchronous_commit": "on",  # done means on disk, whatever the server's default
    }
    await _load(tools, place.dsn, path / DUMP, settings, report, server)
    async with checking_connection(place.dsn, wait_s=place.wait_s) as connection:
        verified = await _verify(connection, manifest, report)
        report(Progress("Checking the schema"))
        migrated = await _migrate(migrate)
        report(Progress("Checking the keyword index"))
        healed = await (await open_dialect(connection, "auto")).prepare(connection)
        await begin_epoch(connection)
        report(Progress("Gathering statistics"))
        await vacuum_tables(connection)
    seconds = round(time.monotonic() - started, 3)
    return Restored(path, manifest, verified, migrated, tuple(healed), seconds)


async def _prepare(
    place: Place, path: Path, manifest: Manifest, report: Report
) -> tuple[PgTools, int]:
    """Check all that can be checked, then make the database empty; programs, server's version."""
    async with checking_connection(place.dsn, wait_s=place.wait_s) as connection:
        tools = await _tools(connection, place, manifest)
        await _refuse_occupied(connection)
        report(Progress("Checking the files"))
        await check_files(path, manifest)
        await drop_everything(connection)  # the tables of a RagBase that was never used
        return tools, await server_major(connection)


def _refuse_newer(manifest: Manifest) -> None:
    unknown = [revision for revision in manifest.revisions if branch_of(revision) is None]
    if unknown or _release(manifest.version) > _release(ragbase.__version__):
        schema = f" (schema {', '.join(unknown)})" if unknown else ""
        raise BackupError(
            f"The backup was made by RagBase {manifest.version}{schema}, this is "
            f"{ragbase.__version__}. Restore with version {manifest.version} or a newer one."
        )


def _release(version: str) -> tuple[int, ...]:
    """``1.10.0rc1`` as (1, 10, 0)."""
    found = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


async def _tools(connection: Connection, place: Place, manifest: Manifest) -> PgTools:
    """Programs that can read the dump, for a server that can hold it."""
    missing = await missing_extensions(connection, list(manifest.extensions))
    if missing:
        raise ConfigurationError(
            f"The backup needs the Postgres extension {', '.join(missing)}, which this server does "
            "not have. Install it there, or restore into a server that has it."
        )
    return await find_tools(
        int(manifest.pg_dump.split(".")[0]),
        f"the backup was made by pg_dump {manifest.pg_dump}",
        given=place.pg_bin,
        bundled=place.bundled,
    )


async def _refuse_occupied(connection: Connection) -> None:
    """Only an empty database will do, or a RagBase that nothing was stored in and nobody uses."""
    contents = await find_contents(connection)
    if not contents.empty and not contents.unused:
        raise ConflictError(
            f"The database is not empty: {contents.described()}. Restore into a new database "
            "(or another RAGBASE_HOME), or drop this one first."
        )
    sessions = await our_sessions(connection)
    if sessions:
        raise ConflictError(
            f"A RagBase is connected to this database ({sessions} connections). "
            "Stop its API and workers, then restore."
        )


async def _load(
    tools: PgTools,
    dsn: str,
    archive: Path,
    settings: dict[str, str],
    report: Report,
    server: int,
) -> None:
    total = await count_entries(tools, archive)
    done = 0

    def heard(entry: str) -> None:
        nonlocal done
        done = min(done + 1, total)
        report(Progress("Restoring", entry, done, total))

    await load_database(tools, dsn, archive, server_major=server, settings=settings, on_entry=heard)


async def _verify(connection: Connection, manifest: Manifest, report: Report) -> bool:
    """Compare every table; True where the checksums could be compared too.

    What differs is taken away again: a restore that is not the backup must not be served.
    """
    comparable = await hash_probe(connection) == manifest.hash_probe
    tables = sorted({*manifest.tables, *await table_names(connection)})
    differing = []
    for done, table in enumerate(tables):
        report(Progress("Verifying", table, done, len(tables)))
        if not await _same(connection, manifest, table, comparable=comparable):
            differing.append(table)
    if differing:
        await drop_everything(connection)
        raise BackupError(
            f"What was restored differs from the manifest in {', '.join(differing)}; it was "
            "removed again. Restore another backup."
        )
    return comparable


async def _same(
    connection: Connection, manifest: Manifest, table: str, *, comparable: bool
) -> bool:
    wanted = manifest.tables.get(table)
    if wanted is None or table not in await table_names(connection):
        return False
    found = await table_figures(connection, table)
    same_sum = found.checksum == wanted.checksum or not comparable
    return found.rows == wanted.rows and same_sum


async def _migrate(migrate: Migrate) -> bool:
    try:
        return (await migrate()).changed
    except RagBaseError as error:
        raise BackupError(
            "The backup was restored, but its schema could not be brought up to date: "
            f"{error.message} Then run `ragbase migrate`."
        ) from error
