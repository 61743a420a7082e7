"""The API and worker as processes of their own, started as their users start them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import httpx

__all__ = ["cpu_seconds", "free_port", "rss_mb", "start_api", "start_inference", "start_ragbase"]

_TICK = os.sysconf("SC_CLK_TCK")


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start_ragbase(*command: str, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """``ragbase <command>`` with these settings on top of ours."""
    return subprocess.Popen(
        [sys.executable, "-m", "ragbase", *command],
        env={**os.environ, "RAGBASE_LOG_LEVEL": "warning", **environment},
    )


def start_api(
    environment: Mapping[str, str], port: int = 0, wait_s: float = 60.0
) -> tuple[subprocess.Popen[bytes], str]:
    """``ragbase serve`` once it is ready, and its URL; ``port`` 0 takes a free one."""
    port = port or free_port()
    process = start_ragbase("serve", environment={**environment, "RAGBASE_PORT": str(port)})
    url = f"http://127.0.0.1:{port}"
    _await_ready(process, f"{url}/health/ready", wait_s)
    return process, url


def start_inference(*flags: str, wait_s: float = 120.0) -> tuple[subprocess.Popen[bytes], str]:
    """``ragbase-inference serve`` on a free port of loopback once it is ready, and its URL."""
    port = free_port()
    command = [sys.executable, "-m", "ragbase_inference", "serve", "--log-level", "warning"]
    process = subprocess.Popen([*command, "--hostname", "127.0.0.1", "--port", str(port), *flags])
    url = f"http://127.0.0.1:{port}"
    _await_ready(process, f"{url}/health", wait_s)
    return process, url


def _await_ready(process: subprocess.Popen[bytes], url: str, wait_s: float) -> None:
    deadline = time.monotonic() + wait_s
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if httpx.get(url).status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.05)
    process.kill()
    process.wait()
    raise TimeoutError(f"{url} did not become ready")


def rss_mb(pid: int) -> float:
    """Resident memory of a process, in MB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def cpu_seconds(pid: int) -> float:
    """User and system time of a process with its children, also ended ones, in seconds."""
    total = 0.0
    for each in (pid, *_descendants(pid)):
        try:
            fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        except FileNotFoundError:  # it has ended; its parent has inherited the time
            continue
        total += sum(int(ticks) for ticks in fields[11:15]) / _TICK
    return total


def _descendants(pid: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except (FileNotFoundError, ProcessLookupError):
                continue
            children.setdefault(parent, []).append(int(folder.name))
    found, left = [], [pid]
    while left:
        below = children.get(left.pop(), [])
        found += below
        left += below
    return found
