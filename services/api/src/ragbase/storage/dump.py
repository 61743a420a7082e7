"""Writes everything in a database to one compressed file, and reads such a file back."""

from __future__ import annotations

import asyncio
import os
import re
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

import asyncpg

from ragbase.storage.libpq import libpq_environment
from ragbase.storage.pg_tools import PgTools, Said, check_end, no_line, run_tool, started
from ragbase.storage.snapshot import table_names

__all__ = ["count_entries", "dump_database", "load_database", "vacuum_tables"]

TRANSACTION_TIMEOUT_SINCE = 17
"""pg_restore 17 and newer begin with a SET that older servers do not know, and stop there."""

_DUMPED = re.compile(r'dumping contents of table "(.+)"')
_LOADED = re.compile(r'(?:creating|processing data for|executing) (\S+(?: \S+)?) "(.+)"')
_SET_TIMEOUT = b"SET transaction_timeout = 0;\n"
_BLOCK = 256 * 1024


async def dump_database(
    tools: PgTools,
    dsn: str,
    snapshot: str,
    target: Path,
    *,
    level: int,
    lock_wait_s: float,
    on_table: Callable[[str], None],
) -> None:
    """Write what ``snapshot`` (of an open transaction) sees to ``target``, made with mode 0600.

    ``level`` is gzip's, 0 to 9; ``on_table`` hears the name of each table when its turn comes.
    The file is on disk, not only in memory, on return. Raises `BackupError`.
    """

    def heard(line: str) -> None:
        if found := _DUMPED.search(line):
            on_table(found[1])

    command = [
        tools.program("pg_dump"),
        "--format=custom",
        f"--compress={level:d}",
        f"--snapshot={snapshot}",
        f"--lock-wait-timeout={round(lock_wait_s * 1000)}",
        "--encoding=UTF8",
        "--no-password",
        "--verbose",
    ]
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        await run_tool(command, environment=libpq_environment(dsn), stdout=file, on_line=heard)
        await asyncio.to_thread(os.fsync, file.fileno())


async def count_entries(tools: PgTools, archive: Path) -> int:
    """Things that `load_database` will make and fill. Raises `BackupError` on a broken file."""
    command = [tools.program("pg_restore"), "--list", str(archive)]
    listed = await run_tool(command, environment=dict(os.environ), stdout=PIPE)
    return sum(1 for line in listed.splitlines() if line and not line.startswith(b";"))


async def load_database(
    tools: PgTools,
    dsn: str,
    archive: Path,
    *,
    server_major: int,
    settings: Mapping[str, str],
    on_entry: Callable[[str], None],
) -> None:
    """Fill the empty database ``dsn`` from a dump, in one transaction: all of it or nothing.

    Owners and privileges are those of the connected role. ``settings`` hold for the session that
    builds the indexes; ``on_entry`` hears of each table, index, … Raises `BackupError`.
    """

    def heard(line: str) -> None:
        if found := _LOADED.search(line):
            on_entry(f"{found[1].lower()} {found[2]}")

    reading = [
        tools.program("pg_restore"),
        "--no-owner",
        "--no-privileges",
        "--no-comments",  # the one on an extension takes its owner's rights
        "--no-publications",
        "--no-subscriptions",
        "--no-security-labels",
        "--no-tablespaces",
        "--verbose",
    ]
    environment = libpq_environment(dsn, settings)
    if server_major < TRANSACTION_TIMEOUT_SINCE <= tools.version[0]:
        reading += ["--file=-", str(archive)]
        await _load_by_psql(tools, reading, environment, heard)
        return
    # --dbname= (empty) connects by the environment alone.
    reading += ["--dbname=", "--single-transaction", "--exit-on-error", "--no-password"]
    await run_tool([*reading, str(archive)], environment=environment, on_line=heard)


async def vacuum_tables(connection: asyncpg.Connection) -> None:
    """Statistics for the planner, and the map without which index-only scans visit each row."""
    for table in await table_names(connection):
        await connection.execute(f"VACUUM (ANALYZE) {table}")


async def _load_by_psql(
    tools: PgTools,
    reading: list[str],
    environment: Mapping[str, str],
    on_line: Callable[[str], None],
) -> None:
    """The same by way of psql, without the statement that the server does not know.

    psql commits at the end of its input: it must not see one unless all of the dump was read.
    """
    writing = [
        tools.program("psql"),
        "--no-psqlrc",
        "--quiet",
        "--no-password",
        "--single-transaction",
        "--set=ON_ERROR_STOP=1",
        "--file=-",
    ]
    read, written = Said(on_line), Said(no_line)
    async with (
        started(writing, environment=environment, stdin=PIPE) as psql,
        started(reading, environment=environment, stdout=PIPE) as restore,
    ):
        assert psql.stdin is not None
        assert psql.stderr is not None
        assert restore.stdout is not None
        assert restore.stderr is not None
        listening = asyncio.gather(read.listen(restore.stderr), written.listen(psql.stderr))
        whole = await _pump(restore.stdout, psql.stdin)
        if whole:
            check_end(reading[0], await restore.wait(), read.error)
            psql.stdin.close()
        code = await psql.wait()
        if not whole:
            await _stop(restore)
        await listening
        check_end(writing[0], code, written.error)


async def _stop(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.terminate()
        await process.wait()


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> bool:
    """Pass everything on but the one statement; False where the reader went away first."""
    try:
        async for block in _without_timeout(source):
            sink.write(block)
            await sink.drain()
    except (BrokenPipeError, ConnectionResetError):
        return False
    return True


async def _without_timeout(source: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """By lines up to the statement, which stands near the beginning, then by blocks."""
    while (line := await source.readline()) and line != _SET_TIMEOUT:
        yield line
    while block := await source.read(_BLOCK):
        yield block
