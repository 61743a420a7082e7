"""The node's first process: pid 1 of its own namespaces, so that all ends with it.

Started by `host` as ``python -m e2e.node.inside SOCKET``: the file descriptor of a listening socket
of the machine. It ends when its standard input does, whatever ended the other side.
"""

from __future__ import annotations

import os
import select
import shutil
import socket
import sys
import tempfile
import time

from e2e.node.addresses import API_PORT, HOME
from e2e.node.mounts import hide_machine
from e2e.node.network import set_up_network
from e2e.node.node import Node
from e2e.node.programs import node_programs
from e2e.node.relay import start_relay

__all__ = ["READY", "STATE"]

STATE = HOME / "state"
"""Logs, volumes and kubeconfigs of the run; made anew by each start."""

READY = "ready"
"""The last line of a start that went well."""


def main() -> int:
    """Start, wait for the end of standard input, stop."""
    began = time.monotonic()

    def say(text: str) -> None:
        print(f"{time.monotonic() - began:5.1f} s  {text}", flush=True)

    shutil.rmtree(STATE, ignore_errors=True)
    STATE.mkdir(parents=True)
    tempfile.tempdir = str(STATE)  # the process ids here say nothing of those outside
    programs, binaries = node_programs()
    hide_machine(HOME, STATE)
    set_up_network()
    node = Node(programs, binaries, STATE)
    try:
        start_relay(socket.socket(fileno=int(sys.argv[1])), API_PORT)
        node.start(say)
        shutil.copy(node.control_plane.kubeconfig(), STATE / "kubeconfig")
        print(READY, flush=True)
        watch(node)
    finally:
        node.stop()
    return 0


def watch(node: Node) -> None:
    """Reap orphans until standard input ends; say which daemons died."""
    said: set[str] = set()
    while not select.select([sys.stdin], [], [], 1.0)[0]:
        for name in set(node.poll()) - said:
            print(f"{name} died: see {STATE / name}.log", flush=True)
            said.add(name)
        reap(node.pids())


def reap(ours: set[int]) -> None:
    """Wait for processes that lost their parent; ours are waited for elsewhere."""
    while True:
        try:
            found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if found is None or found.si_pid in ours:
            return
        os.waitpid(found.si_pid, 0)


if __name__ == "__main__":
    sys.exit(main())
