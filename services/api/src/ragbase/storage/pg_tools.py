"""Finds pg_dump, pg_restore and psql, and runs them: their input, output, errors and end."""

from __future__ import annotations

import asyncio
import re
import shutil
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ragbase.errors import BackupError, ConfigurationError

__all__ = ["PgTools", "Said", "check_end", "find_tools", "no_line", "run_tool", "started"]

_LINE_BYTES = 16 * 1024 * 1024
_GRACE_S = 5.0
_ERROR = re.compile(r"\b(?:error|ERROR|FATAL|PANIC):")
_NO_EXTENSION = re.compile(r'permission denied to create extension "(\w+)"')
_NO_ROOM = ("No space left on device", "Disk quota exceeded", "File too large")


@dataclass(frozen=True, slots=True)
class PgTools:
    """A folder of Postgres client programs, and their version, like ``(18, 6)``."""

    folder: Path
    version: tuple[int, ...]

    def program(self, name: str) -> str:
        """Path of ``pg_dump``, ``pg_restore`` or ``psql``."""
        return str(self.folder / name)

    @property
    def named(self) -> str:
        """Version as people write it."""
        return ".".join(map(str, self.version))


async def find_tools(
    least: int, wanted_by: str, *, given: Path | None, bundled: Path | None
) -> PgTools:
    """Programs of major version ``least`` or newer: ``given`` alone, else ``bundled``, else PATH.

    ``wanted_by`` says in the error who needs that version, like ``the server has Postgres 18``.
    """
    found = [tools for folder in _folders(given, bundled) if (tools := await _look(folder))]
    for tools in found:
        if tools.version[0] >= least:
            return tools
    if not found:
        place = f"in RAGBASE_PG_BIN ({given})" if given else "on the PATH"
        raise ConfigurationError(
            f"There is no pg_dump {place}. Install the Postgres client programs (version {least} "
            "or newer) and set RAGBASE_PG_BIN to their folder, or install `ragbase[embedded]`."
        )
    newest = max(found, key=lambda tools: tools.version)
    raise ConfigurationError(
        f"{newest.program('pg_dump')} is version {newest.named}, but {wanted_by}. Install client "
        f"programs of version {least} or newer and set RAGBASE_PG_BIN to their folder."
    )


def _folders(given: Path | None, bundled: Path | None) -> list[Path]:
    if given is not None:
        return [given]
    on_path = shutil.which("pg_dump")
    folders = [bundled, Path(on_path).parent if on_path else None]
    return [folder for folder in folders if folder is not None]


async def _look(folder: Path) -> PgTools | None:
    """The programs of a folder; None where they are not, or do not run."""
    try:
        process = await asyncio.create_subprocess_exec(
            str(folder / "pg_dump"), "--version", stdout=PIPE, stderr=PIPE
        )
    except OSError:
        return None
    said, _ = await process.communicate()
    version = re.search(rb"\) (\d+)(?:\.(\d+))?", said)
    if process.returncode != 0 or version is None:
        return None
    return PgTools(folder, tuple(int(part) for part in version.groups() if part is not None))


class Said:
    """What a program says on standard error: news are passed on, the first error is kept.

    Only the error's own line is kept: what follows may quote rows.
    """

    def __init__(self, on_line: Callable[[str], None]) -> None:
        self._on_line = on_line
        self.error = ""

    async def listen(self, stream: asyncio.StreamReader) -> None:
        """Read to the end."""
        async for raw in stream:
            line = raw.decode("utf-8", "replace").strip()
            if not self.error and _ERROR.search(line):
                self.error = line
            else:
                self._on_line(line)


def no_line(line: str) -> None:
    """Takes a line and does nothing."""


async def run_tool(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    stdout: IO[bytes] | int = asyncio.subprocess.DEVNULL,
    on_line: Callable[[str], None] = no_line,
) -> bytes:
    """Run to the end; the output where ``stdout`` is PIPE. Raises `BackupError` if it fails."""
    said = Said(on_line)
    async with started(command, environment=environment, stdout=stdout) as process:
        assert process.stderr is not None
        listening = asyncio.create_task(said.listen(process.stderr))
        output = await process.stdout.read() if process.stdout is not None else b""
        await listening
        check_end(command[0], await process.wait(), said.error)
    return output


@asynccontextmanager
async def started(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    stdin: int = asyncio.subprocess.DEVNULL,
    stdout: IO[bytes] | int = asyncio.subprocess.DEVNULL,
) -> AsyncIterator[Process]:
    """A running program with its errors on a pipe; ended if it still runs when the block ends."""
    process = await asyncio.create_subprocess_exec(
        *command, stdin=stdin, stdout=stdout, stderr=PIPE, env=dict(environment), limit=_LINE_BYTES
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            await _end(process)


async def _end(process: Process) -> None:
    """SIGTERM first: pg_dump and pg_restore then cancel what the server does for them."""
    process.terminate()
    try:
        async with asyncio.timeout(_GRACE_S):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


def check_end(program: str, code: int, error: str) -> None:
    """Raise `BackupError` with the program's own words, or what ended it."""
    if code == 0:
        return
    name = Path(program).name
    if code == -signal.SIGXFSZ or any(text in error for text in _NO_ROOM):
        raise BackupError(
            f"{name} ran out of room ({error or 'file too large'}). "
            "Make room, or choose another folder."
        )
    if extension := _NO_EXTENSION.search(error):
        raise BackupError(
            f"The database role may not set up the extension {extension[1]}. Ask an administrator "
            f"to run `CREATE EXTENSION {extension[1]};` in this database, then restore again."
        )
    if "canceling statement due to" in error:  # pg_dump waits no longer for a lock
        raise BackupError(
            "A table stays locked, perhaps by a migration or a rebuild of the keyword index. "
            "Try again when that has ended."
        )
    if code < 0:
        raise BackupError(
            f"{name} was ended by signal {-code} ({signal.Signals(-code).name}). "
            "Look whether the machine is short of memory, and run the command again."
        )
    raise BackupError(f"{name} failed: {error or f'exit status {code}'}", code="database_tool")
