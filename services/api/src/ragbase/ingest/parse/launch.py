"""Starting parser processes from the API, and learning how they end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from ragbase.errors import UnavailableError
from ragbase.ingest.parse.fork_server import STATUS
from ragbase.ingest.parse.kinds import KINDS, FileKind

__all__ = ["Ended", "ForkServer", "FreshProcesses", "Launcher", "Running", "launcher"]

_KEPT: Final = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")
"""What a Python may need to start. Nothing else of our environment, which holds passwords."""
_END_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended: exit code, or minus the signal's number; its most resident bytes."""

    code: int
    peak_bytes: int = 0


class Running(Protocol):
    """A parser process with one job."""

    @property
    def reader(self) -> asyncio.StreamReader:
        """Its answer."""
        ...

    @property
    def writer(self) -> asyncio.StreamWriter:
        """Where its job goes."""
        ...

    async def ended(self) -> Ended:
        """Wait for its end."""
        ...

    def end(self) -> None:
        """Let go of it; one that still runs is killed."""
        ...


class Launcher(Protocol):
    """Starts parser processes."""

    async def start(self, kind: FileKind) -> Running:
        """A process that waits for a job of this kind. Raises `UnavailableError`."""
        ...

    async def aclose(self) -> None:
        """End all of them."""
        ...


def launcher() -> Launcher:
    """Forked processes where the system has them, else fresh ones."""
    return ForkServer() if hasattr(os, "fork") else FreshProcesses()


class ForkServer:
    """Processes forked from one that has the libraries loaded, started with the first job."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    @property
    def process_id(self) -> int | None:
        """Of the process that forks."""
        return None if self._process is None else self._process.pid

    async def start(self, kind: FileKind) -> Running:
        job, childs_job = socket.socketpair()
        status, servers_status = socket.socketpair()
        with childs_job, servers_status:
            try:
                self._send(kind, [childs_job.fileno(), servers_status.fileno()])
            except OSError as error:
                job.close()
                status.close()
                raise UnavailableError(
                    "Files cannot be read now: no process can be started.",
                    code="parser_unavailable",
                ) from error
        return _Forked(
            *await asyncio.open_unix_connection(sock=job),
            *await asyncio.open_unix_connection(sock=status),
        )

    def _send(self, kind: FileKind, descriptors: list[int]) -> None:
        message = [bytes([KINDS.index(kind)])]
        try:
            socket.send_fds(self._ready(), message, descriptors)
        except (BrokenPipeError, ConnectionResetError):  # it was killed; the next one is not
            self._drop()
            socket.send_fds(self._ready(), message, descriptors)

    def _ready(self) -> socket.socket:
        if self._control is None:
            self._control, servers_end = socket.socketpair()
            with servers_end:
                self._process = subprocess.Popen(  # noqa: S603 - our own module
                    [*_PYTHON, "ragbase.ingest.parse.fork_server"],
                    stdin=servers_end.fileno(),
                    stdout=subprocess.DEVNULL,
                    env=_environment(os.environ),
                    start_new_session=True,  # Ctrl-C is the API's to handle
                )
        return self._control

    def _drop(self) -> None:
        """Close the connection, at which the server ends its children and itself."""
        if self._control is not None:
            self._control.close()
        if self._process is not None:
            try:
                self._process.wait(_END_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._control = self._process = None

    async def aclose(self) -> None:
        await asyncio.to_thread(self._drop)


@dataclass(frozen=True, slots=True)
class _Forked:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    status_reader: asyncio.StreamReader
    status_writer: asyncio.StreamWriter

    async def ended(self) -> Ended:
        try:
            return Ended(*STATUS.unpack(await self.status_reader.readexactly(STATUS.size)))
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            raise UnavailableError(
                "The process that reads files was killed; try again.", code="parser_unavailable"
            ) from error

    def end(self) -> None:
        self.status_writer.transport.abort()
        self.writer.transport.abort()


class FreshProcesses:
    """A new interpreter a file: slower, for systems that cannot fork."""

    async def start(self, kind: FileKind) -> Running:  # noqa: ARG002 - its job says it too
        process = await asyncio.create_subprocess_exec(
            *_PYTHON,
            "ragbase.ingest.parse.child",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(os.environ),
        )
        assert process.stdin is not None
        assert process.stdout is not None
        return _Fresh(process.stdout, process.stdin, process)

    async def aclose(self) -> None:
        """Nothing: each process ends with its job."""


@dataclass(frozen=True, slots=True)
class _Fresh:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    process: asyncio.subprocess.Process

    async def ended(self) -> Ended:
        return Ended(await self.process.wait())

    def end(self) -> None:
        self.writer.close()
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()


_PYTHON: Final = (sys.executable, "-I", "-X", "utf8", "-m")


def _environment(ours: Mapping[str, str]) -> dict[str, str]:
    return {name: ours[name] for name in _KEPT if name in ours}
