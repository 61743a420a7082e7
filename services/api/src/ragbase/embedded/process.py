"""The server process: in a session of its own, and never outliving us."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from ragbase.embedded.account import Account

__all__ = ["spawn", "stop"]

SUPERVISOR = """
socket_dir=$1; shift
exec 3<&0 </dev/null
"$@" 3<&- & server=$!
(read -r _ <&3; kill -INT $server) & watch=$!
exec 3<&-
trap '' HUP INT TERM
wait $server; code=$?
kill -KILL $watch 2>/dev/null
[ -z "$socket_dir" ] || rmdir "$socket_dir" 2>/dev/null
exit $code
"""
"""Waits for the server, clears its socket folder and passes on its exit status. When standard input closes - because we
asked for a stop, or because we died in whatever way - the server gets SIGINT, its fast shutdown.
A parent-death signal would not do: Linux ties it to the thread that forked, not to the process."""


def spawn(
    program: Path,
    arguments: Sequence[str],
    account: Account,
    environment: Mapping[str, str],
    log: Path,
    socket_dir: Path | None,
) -> subprocess.Popen[bytes]:
    """Start ``program`` under the supervisor, its output appended to ``log``."""
    log.touch(mode=0o600)
    with log.open("ab") as output:
        return subprocess.Popen(  # noqa: S603 - a program of the installed wheel
            [
                "/bin/sh",
                "-c",
                SUPERVISOR,
                "ragbase-postgres",
                str(socket_dir or ""),
                str(program),
                *arguments,
            ],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            cwd="/",
            env=dict(environment),
            start_new_session=True,
            **account.identity,
        )


def stop(process: subprocess.Popen[bytes], timeout_s: float) -> bool:
    """Ask for a fast shutdown and wait for it; whether it ended in time."""
    if process.stdin is not None and not process.stdin.closed:
        process.stdin.close()
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        return False
    return True
