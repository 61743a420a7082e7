"""One RagBase a data folder, and no server left over from one that died."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil

from ragbase.errors import ConfigurationError

__all__ = ["FolderLock", "Postmaster", "is_held", "read_postmaster", "stop_leftover"]

SOCKET_PREFIX = "ragbase-"
LOCK_PATIENCE_S = 1.0


class FolderLock:
    """An advisory lock on a data folder, held while its server belongs to this process."""

    def __init__(self, data_dir: Path) -> None:
        self.path = data_dir.with_name(data_dir.name + ".lock")
        self.file: IO[str] | None = None

    def acquire(self) -> None:
        """Take the lock or raise `ConfigurationError` naming the process that holds it.

        A holder that was just killed gets a moment to vanish.
        """
        file = self.path.open("a+", encoding="ascii")
        deadline = time.monotonic() + LOCK_PATIENCE_S
        while not _locked(file) and time.monotonic() < deadline:
            time.sleep(0.05)
        if not _locked(file):
            file.seek(0)
            holder = file.read().strip()
            file.close()
            raise ConfigurationError(
                f"Another RagBase (process {holder or 'unknown'}) uses the state folder "
                f"{self.path.parent}. Stop it first, or set RAGBASE_HOME to another folder."
            )
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        self.file = file

    def release(self) -> None:
        """Give the lock back; the file stays (removing it would race with the next holder)."""
        if self.file is not None:
            self.file.close()
            self.file = None


def is_held(data_dir: Path) -> bool:
    """Whether some process, ours included, holds the lock of ``data_dir``."""
    lock = FolderLock(data_dir)
    if not lock.path.exists():
        return False
    with lock.path.open("a+", encoding="ascii") as file:
        return not _locked(file)


def _locked(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Postmaster:
    """What ``postmaster.pid`` says."""

    pid: int
    socket_dir: Path | None
    port: int | None = None


def read_postmaster(data_dir: Path) -> Postmaster | None:
    """The server that last claimed ``data_dir``, alive or not."""
    try:
        lines = (data_dir / "postmaster.pid").read_text(encoding="utf-8").splitlines()
        pid = int(lines[0])
    except (FileNotFoundError, ValueError, IndexError):
        return None
    socket_dir = lines[4].strip() if len(lines) > 4 else ""
    port = int(lines[3]) if len(lines) > 3 and lines[3].strip().isdigit() else None
    return Postmaster(pid, Path(socket_dir) if socket_dir else None, port)


def stop_leftover(data_dir: Path, timeout_s: float) -> None:
    """Stop the server of a RagBase that died, and clear what it or a crash left behind.

    Call it with the `FolderLock` held. A pid that now belongs to some other program is left
    alone; only the stale file goes, which would otherwise keep Postgres from starting.
    """
    left = read_postmaster(data_dir)
    server = None if left is None else _server_process(left.pid, data_dir)
    if server is not None:
        _end(server, timeout_s)
    _outlive(data_dir, timeout_s)
    if left is None:
        return
    (data_dir / "postmaster.pid").unlink(missing_ok=True)
    if left.socket_dir is not None and left.socket_dir.name.startswith(SOCKET_PREFIX):
        shutil.rmtree(left.socket_dir, ignore_errors=True)


def _server_process(pid: int, data_dir: Path) -> psutil.Process | None:
    """The process ``pid`` if it is the Postgres of ``data_dir`` (which is its working folder)."""
    try:
        process = psutil.Process(pid)
        if Path(process.cwd()) == data_dir.resolve():
            return process
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return None
    return None


def _outlive(data_dir: Path, timeout_s: float) -> None:
    """Wait for the children of a server that was killed: they notice, but not at once, and while
    one is left Postgres refuses to start. What they share died with the server, so the end of
    those that are too busy to notice needs no order.
    """
    children = [
        child
        for child in psutil.process_iter()
        if child.pid != os.getpid() and _server_process(child.pid, data_dir) is not None
    ]
    _, alive = psutil.wait_procs(children, timeout_s)
    for child in alive:
        with suppress(psutil.NoSuchProcess):
            child.kill()
    psutil.wait_procs(alive, timeout_s)


def _end(server: psutil.Process, timeout_s: float) -> None:
    for action in (signal.SIGINT, signal.SIGQUIT):
        try:
            server.send_signal(action)
            server.wait(timeout_s)
        except psutil.NoSuchProcess:
            return
        except psutil.TimeoutExpired:
            continue
        return
    raise ConfigurationError(
        f"The Postgres of an earlier RagBase (process {server.pid}) does not stop. End it by hand."
    )
