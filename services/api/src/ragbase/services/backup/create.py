"""Takes a backup: one snapshot, dumped and counted at the same time."""

from __future__ import annotations

import asyncio
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import ragbase
from ragbase.errors import BackupError
from ragbase.services.backup.manifest import (
    DUMP,
    FileRecord,
    Manifest,
    TableRecord,
    file_record,
    write_manifest,
)
from ragbase.services.backup.place import Place, Progress, Report, silent
from ragbase.services.backup.shelf import Entry, Shelf
from ragbase.storage.dump import dump_database
from ragbase.storage.pg_tools import PgTools, find_tools
from ragbase.storage.pool import Connection
from ragbase.storage.snapshot import (
    DatabaseFacts,
    exported_snapshot,
    hash_probe,
    read_facts,
    table_figures,
    table_names,
)

__all__ = ["COMPRESSION", "LOCK_WAIT_S", "back_up"]

COMPRESSION = 1
"""gzip's level: 6 takes three times as long for a file smaller by a seventh."""
LOCK_WAIT_S = 120.0
"""Longest to wait for a migration or a rebuild of the keyword index that locks a table."""
_TICK_S = 0.5


async def back_up(
    place: Place,
    shelf: Shelf,
    *,
    compression: int = COMPRESSION,
    lock_wait_s: float = LOCK_WAIT_S,
    report: Report = silent,
) -> Entry:
    """Write a backup of the database to ``shelf``; readers and writers go on meanwhile.

    Raises `BackupError` (nothing is left behind then), `DatabaseUnavailableError`,
    `ConflictError` while another backup is written to the same folder, `ConfigurationError`.
    """
    started, now = time.monotonic(), datetime.now(UTC)
    async with exported_snapshot(place.dsn, wait_s=place.wait_s) as (connection, snapshot):
        facts = await read_facts(connection)
        tools = await _tools(place, facts)
        with shelf.growing(now) as partial:
            dumping = _Dumping(tools, place.dsn, snapshot, partial / DUMP, report)
            tables, dump = await _at_once(dumping, connection, compression, lock_wait_s)
            manifest = Manifest(
                version=ragbase.__version__,
                taken_at=now,
                seconds=round(time.monotonic() - started, 3),
                postgres=facts.postgres,
                pg_dump=tools.named,
                extensions=facts.extensions,
                revisions=facts.revisions,
                dialect=facts.dialect,
                embedding_models=facts.models,
                hash_probe=await hash_probe(connection),
                tables=tables,
                files={DUMP: dump},
            )
            write_manifest(partial, manifest)
            return Entry(shelf.finish(partial), manifest)


async def _tools(place: Place, facts: DatabaseFacts) -> PgTools:
    if not facts.revisions:
        raise BackupError(
            "The database holds no RagBase: there is nothing to back up. "
            "Check DATABASE_URL, or RAGBASE_HOME."
        )
    return await find_tools(
        facts.major,
        f"the server has Postgres {facts.postgres}",
        given=place.pg_bin,
        bundled=place.bundled,
    )


@dataclass(slots=True)
class _Dumping:
    """pg_dump at work, and how far it is."""

    tools: PgTools
    dsn: str
    snapshot: str
    target: Path
    report: Report
    table: str = ""

    async def run(self, compression: int, lock_wait_s: float) -> FileRecord:
        """Dump to the end; then size and SHA-256 of the file."""
        ticking = asyncio.create_task(self._tick())
        try:
            await dump_database(
                self.tools,
                self.dsn,
                self.snapshot,
                self.target,
                level=compression,
                lock_wait_s=lock_wait_s,
                on_table=self._begun,
            )
        finally:
            ticking.cancel()
        return await file_record(self.target)

    def _begun(self, table: str) -> None:
        self.table = table
        self._say()

    def _say(self) -> None:
        size = self.target.stat().st_size if self.target.exists() else 0
        self.report(Progress("Dumping", self.table, size))

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(_TICK_S)
            self._say()


async def _at_once(
    dumping: _Dumping, connection: Connection, compression: int, lock_wait_s: float
) -> tuple[dict[str, TableRecord], FileRecord]:
    """Dump, and count what the same snapshot sees; the first to fail stops the other."""
    try:
        async with asyncio.TaskGroup() as group:
            dump = group.create_task(dumping.run(compression, lock_wait_s))
            tables = group.create_task(_count(connection))
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return tables.result(), dump.result()


async def _count(connection: Connection) -> dict[str, TableRecord]:
    return {
        table: TableRecord(**asdict(await table_figures(connection, table)))
        for table in await table_names(connection)
    }
