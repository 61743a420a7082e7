"""A process of the test run, which ends with it whatever ends the run."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

__all__ = ["Daemon", "free_port", "wait_until"]

STOP_TIMEOUT_S = 10.0
"""Seconds between SIGTERM and SIGKILL."""

PR_SET_PDEATHSIG = 1
"""prctl(2): the signal that the kernel sends when the thread that started the process ends."""

LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


class Daemon:
    """One program with a log file ``NAME.log``; may be started and stopped many times."""

    def __init__(self, name: str, command: Sequence[str], folder: Path) -> None:
        self.name = name
        self.command = list(command)
        self.folder = folder
        self.log = folder / f"{name}.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """Process id while it runs."""
        return self._process.pid if self._process and self._process.poll() is None else None

    def start(self) -> None:
        """Start it, if it does not run."""
        if self.pid is None:
            with self.log.open("ab") as log:
                self._process = subprocess.Popen(
                    self.command,
                    cwd=self.folder,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    preexec_fn=die_with_parent,
                )

    def stop(self, timeout_s: float = STOP_TIMEOUT_S) -> None:
        """SIGTERM, and SIGKILL if it lingers."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGCONT)
        self._process.terminate()
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the running process."""
        if self._process is None:
            raise RuntimeError(f"{self.name} does not run")
        self._process.send_signal(number)
        if number == signal.SIGSTOP:  # the call returns before all threads have heard of it
            os.waitid(os.P_PID, self._process.pid, os.WSTOPPED)

    def last_words(self, length: int = 2000) -> str:
        """The end of its log."""
        return self.log.read_text(errors="replace")[-length:] if self.log.exists() else ""


def die_with_parent() -> None:
    """In the child: be killed when the test run is, even by SIGKILL; and not by its Ctrl-C."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if LIBC is not None:
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def free_port() -> int:
    """A TCP port of the loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def wait_until(what: Callable[[], bool], timeout_s: float, daemon: Daemon) -> None:
    """Return once ``what`` holds; RuntimeError with the log's end if it does not, or if it died."""
    end = time.monotonic() + timeout_s
    while not what():
        if daemon.pid is None or time.monotonic() > end:
            raise RuntimeError(f"{daemon.name} did not come up:\n{daemon.last_words()}")
        time.sleep(0.05)
