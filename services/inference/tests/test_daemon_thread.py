"""Blocking calls that nobody waits for at exit."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest

from ragbase_inference.daemon_thread import in_daemon_thread


async def test_results_and_errors_come_back() -> None:
    assert await in_daemon_thread(lambda: threading.current_thread().daemon)

    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await in_daemon_thread(fail)


async def test_a_cancelled_caller_leaves_the_call_to_itself() -> None:
    go, done = threading.Event(), threading.Event()

    def work() -> None:
        go.wait()
        done.set()

    task = asyncio.create_task(in_daemon_thread(work))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go.set()
    assert await asyncio.to_thread(done.wait, 10)
    await asyncio.sleep(0.01)  # the late result arrives, and nobody is disturbed


def test_a_process_ends_while_a_call_is_under_way() -> None:
    program = """
import asyncio, time
from ragbase_inference.daemon_thread import in_daemon_thread

async def main():
    task = asyncio.create_task(in_daemon_thread(lambda: time.sleep(600)))
    await asyncio.sleep(0.05)
    task.cancel()

asyncio.run(main())
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
