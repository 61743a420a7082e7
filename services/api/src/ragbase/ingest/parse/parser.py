"""Reading a file in a process of its own, from the API's side."""

from __future__ import annotations

import asyncio
import contextlib
import re
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import BinaryIO, Final

from ragbase.errors import InvalidInputError, OverloadedError, TooLargeError, UnavailableError
from ragbase.ingest.parse.kinds import HEAD_BYTES, FileKind, kind_of
from ragbase.ingest.parse.launch import Ended, Launcher, Running, launcher
from ragbase.ingest.parse.parsed import ParsedFile, unreadable
from ragbase.ingest.parse.wire import LENGTH, Job, answer_max, parsed_file

__all__ = ["FileParser", "ParseLimits"]

_PIECE: Final = 256 * 1024
_GRACE_S: Final = 5.0
"""The process ends itself at its time-out; this is for one that does not."""
_CHARSET: Final = re.compile(r";\s*charset\s*=\s*\"?([\w.:-]{1,40})", re.IGNORECASE)
_BYTES_A_CHARACTER: Final = 4
"""At most, in any encoding that is read."""
_TIMES_UP: Final = frozenset(
    -getattr(signal, name) for name in ("SIGALRM", "SIGXCPU") if hasattr(signal, name)
)
_KILLED: Final = -getattr(signal, "SIGKILL", 9)


@dataclass(frozen=True, slots=True)
class ParseLimits:
    """Bounds on one file, and on how many are read at once."""

    text_chars: int
    timeout_s: float = 60.0
    memory_bytes: int = 1024**3
    parallel: int = 2


class FileParser:
    """Turns files into text. Whatever a file does, it ends as a text or as an error with a code."""

    def __init__(self, limits: ParseLimits, processes: Launcher | None = None) -> None:
        self._limits = limits
        self._processes = launcher() if processes is None else processes
        self._places = asyncio.Semaphore(limits.parallel)

    async def parse(
        self, file: BinaryIO, size: int, name: str, media_type: str | None = None
    ) -> tuple[FileKind, ParsedFile]:
        """The kind and the content of the ``size`` bytes from where ``file`` stands.

        ``media_type`` is what the sender declared. Cancelling ends the process. Raises
        `UnsupportedMediaTypeError`, `TooLargeError`, and `InvalidInputError` with the codes
        ``blank``, ``no_text``, ``encrypted``, ``invalid_text``, ``file_unreadable``,
        ``parse_timeout`` and ``parse_memory``; `OverloadedError` when no place became free in time;
        `UnavailableError` when no process can run.
        """
        if size == 0:
            raise unreadable("The file is empty.", "blank")
        head = await asyncio.to_thread(file.read, HEAD_BYTES)
        kind = kind_of(head, name, media_type)
        self._refuse_hopeless(kind, size)
        charset = None if media_type is None else _CHARSET.search(media_type)
        limits = self._limits
        job = Job(
            kind,
            name,
            size,
            limits.text_chars,
            limits.timeout_s,
            limits.memory_bytes,
            charset[1] if charset else None,
        )
        async with self._place():
            return kind, await self._run(job, head, file)

    async def aclose(self) -> None:
        """End all processes."""
        await self._processes.aclose()

    @contextlib.asynccontextmanager
    async def _place(self) -> AsyncIterator[None]:
        """One of the places for files; nobody waits longer than one file may take."""
        try:
            async with asyncio.timeout(self._limits.timeout_s):
                await self._places.acquire()
        except TimeoutError:
            raise OverloadedError(
                f"{self._limits.parallel} files are being read (RAGBASE_PARSE_PARALLEL) and none "
                "was done in time; try again later, or queue the file (Prefer: respond-async).",
                retry_after=self._limits.timeout_s,
            ) from None
        try:
            yield
        finally:
            self._places.release()

    def _refuse_hopeless(self, kind: FileKind, size: int) -> None:
        """Text whose bytes cannot make few enough characters needs no reading."""
        most = self._limits.text_chars
        if kind in ("text", "markdown") and size > most * _BYTES_A_CHARACTER:
            raise TooLargeError(
                f"The file's {size} bytes are more than {most} characters "
                "(RAGBASE_MAX_TEXT_CHARS).",
                code="text_too_long",
            )

    async def _run(self, job: Job, head: bytes, file: BinaryIO) -> ParsedFile:
        running = await self._processes.start(job.kind)
        try:
            async with asyncio.timeout(job.timeout_s + _GRACE_S):
                with contextlib.suppress(ConnectionError):  # it ended early; the answer says why
                    await _send(running, job, head, file)
                return await self._answer(running, job)
        except TimeoutError:
            raise self._too_slow() from None
        finally:
            running.end()

    async def _answer(self, running: Running, job: Job) -> ParsedFile:
        answer = await _read_answer(running, answer_max(job.max_chars))
        if answer is None:
            raise self._died(await running.ended())
        try:
            return await asyncio.to_thread(parsed_file, answer)
        except InvalidInputError as error:
            if error.code == "parse_memory":
                raise self._too_big() from error
            raise
        except ValueError as error:
            raise unreadable("The file cannot be read.") from error

    def _died(self, ended: Ended) -> Exception:
        if ended.code in _TIMES_UP:
            return self._too_slow()
        if ended.code == _KILLED or ended.peak_bytes > self._limits.memory_bytes // 2:
            return self._too_big()
        if ended.code >= 0:
            return UnavailableError("The process that reads files failed.", code="parser_failed")
        return unreadable("The file is damaged: reading it crashed the process that did.")

    def _too_slow(self) -> Exception:
        return unreadable(
            f"Reading the file took longer than {self._limits.timeout_s:g} s "
            "(RAGBASE_PARSE_TIMEOUT).",
            "parse_timeout",
        )

    def _too_big(self) -> Exception:
        return unreadable(
            f"Reading the file took more than {self._limits.memory_bytes} bytes of memory "
            "(RAGBASE_PARSE_MEMORY_BYTES).",
            "parse_memory",
        )


async def _send(running: Running, job: Job, head: bytes, file: BinaryIO) -> None:
    running.writer.write(job.head())
    piece, left = head, job.size
    while piece and left > 0:
        running.writer.write(piece[:left])
        await running.writer.drain()
        left -= len(piece)
        piece = await asyncio.to_thread(file.read, min(_PIECE, left)) if left > 0 else b""


async def _read_answer(running: Running, limit: int) -> bytes | None:
    """None when the process ended without one, or says more than it may."""
    try:
        length = LENGTH.unpack(await running.reader.readexactly(LENGTH.size))[0]
        return await running.reader.readexactly(length) if length <= limit else b""
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
