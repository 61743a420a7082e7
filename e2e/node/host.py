"""The node from outside: the process that holds it, and what other commands ask of it."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import IO

import psutil

from e2e.node.addresses import API_PORT, HOME
from e2e.node.inside import READY, STATE

__all__ = ["NodeError", "enter", "hold", "kubeconfig", "start", "status", "stop"]

LOCK = HOME / "lock"
"""Held as long as a node runs."""
HOLDER = HOME / "holder.json"
"""Process ids of the holder and of the node's first process."""
PROGRESS = HOME / "progress.log"

UNSHARE = ("unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
STOP_TIMEOUT_S = 60.0
CGROUPS = Path("/sys/fs/cgroup")
ROOT = Path(__file__).parents[2]


class NodeError(RuntimeError):
    """A node cannot be started, or none runs; the message says why."""


def start() -> subprocess.Popen[bytes] | None:
    """Start a node that stays when we end; prints its progress. None at once if one runs.

    The process is the node's holder: whoever stops it waits for it, too.

    Raises:
        NodeError: it did not come up.
    """
    if status():
        return None
    HOME.mkdir(parents=True, exist_ok=True)
    with PROGRESS.open("wb") as log:
        holder = subprocess.Popen(
            [sys.executable, "-m", "e2e.node", "run"],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    for line in followed(PROGRESS, holder):
        if line == READY:
            return holder
        print(line, flush=True)
    raise NodeError(f"the node did not come up: see {PROGRESS}")


def followed(path: Path, writer: subprocess.Popen[bytes]) -> Iterator[str]:
    """Lines of a file as they are written, until the process ends."""
    with path.open() as lines:
        while True:
            ended = writer.poll() is not None
            yield from (line.rstrip("\n") for line in lines)
            if ended:
                return
            time.sleep(0.1)


def stop() -> bool:
    """Stop the node and wait for its end; False if none runs.

    Raises:
        NodeError: it still runs after a minute.
    """
    pid = status()
    if pid is None:
        return False
    with suppress(ProcessLookupError):  # it was killed, and the node is about to end
        os.kill(pid, signal.SIGTERM)
    end = time.monotonic() + STOP_TIMEOUT_S
    while status() is not None:
        if time.monotonic() > end:
            raise NodeError(f"process {pid} does not stop")
        time.sleep(0.1)
    remove_cgroups()
    return True


def status() -> int | None:
    """Process id of the holder of a node, ready or not; None if there is none."""
    HOME.mkdir(parents=True, exist_ok=True)
    with LOCK.open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return int(read_holder()["holder"])
    return None


def kubeconfig() -> Path:
    """The kubeconfig of the administrator of a node that is ready.

    Raises:
        NodeError: there is none.
    """
    path = STATE / "kubeconfig"
    if status() is None or not path.exists():
        raise NodeError("no node is ready: python -m e2e.node start")
    return path


def enter() -> list[str]:
    """The beginning of a command line that runs in the node's namespaces."""
    return ["nsenter", f"--target={read_holder()['first']}", "--net", "--mount", "--pid", "--"]


def read_holder() -> dict[str, int]:
    """What `hold` has written; it takes the lock a moment before."""
    for _ in range(100):
        if HOLDER.exists() and HOLDER.stat().st_size:
            found: dict[str, int] = json.loads(HOLDER.read_text())
            return found
        time.sleep(0.1)
    raise NodeError(f"{HOLDER} is not written")


def hold() -> int:
    """Run a node until SIGTERM or Ctrl-C; its exit status.

    Raises:
        NodeError: another one runs, or the port is taken.
    """
    HOME.mkdir(parents=True, exist_ok=True)
    with LOCK.open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise NodeError("a node runs already") from None
        HOLDER.unlink(missing_ok=True)
        remove_cgroups()
        with listening(API_PORT) as port:
            command = [*UNSHARE, sys.executable, "-m", "e2e.node.inside", str(port.fileno())]
            # The lock goes along: if we are killed, it is held until the node has ended.
            inherited = [port.fileno(), lock.fileno()]
            node = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, pass_fds=inherited)
        first = first_process(node)
        HOLDER.write_text(json.dumps({"holder": os.getpid(), "first": first}))
        assert node.stdin is not None
        end_on_signals(node.stdin)
        code = node.wait()
        remove_cgroups()
        return code


@contextmanager
def listening(port: int) -> Iterator[socket.socket]:
    """A socket that listens on the loopback."""
    with socket.socket() as found:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind(("127.0.0.1", port))
        except OSError as error:
            raise NodeError(f"port {port}: {error.strerror}; set RAGBASE_NODE_PORT") from error
        found.listen(128)
        yield found


def first_process(node: subprocess.Popen[bytes]) -> int:
    """The child of `unshare`, which is pid 1 in there."""
    for _ in range(100):
        if children := psutil.Process(node.pid).children():
            return int(children[0].pid)
        time.sleep(0.05)
    raise NodeError("unshare started nothing")


def end_on_signals(stdin: IO[bytes]) -> None:
    """Have signals end the node's standard input, which ends it."""

    def end(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - signal's signature
        stdin.close()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)


def remove_cgroups() -> None:
    """Remove the empty cgroups of pods, deepest first: the only thing a node leaves behind."""
    for root in (*CGROUPS.glob("*/kubepods"), CGROUPS / "kubepods"):
        if root.is_dir():
            folders = [path for path in root.rglob("*") if path.is_dir()]
            for folder in (*sorted(folders, reverse=True), root):
                folder.rmdir()
