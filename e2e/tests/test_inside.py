"""The first process: orphans are waited for, children of ours are not."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from e2e.node.inside import reap


def ended(*command: str) -> subprocess.Popen[bytes]:
    """A child that is over, and not yet waited for."""
    child = subprocess.Popen(command)
    while os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT) is None:
        time.sleep(0.01)
    return child


def test_our_child_keeps_its_exit_status() -> None:
    child = ended(sys.executable, "-c", "raise SystemExit(3)")
    reap({child.pid})
    assert child.wait() == 3


def test_others_are_waited_for() -> None:
    child = ended("true")
    reap(set())
    with pytest.raises(ProcessLookupError):
        os.kill(child.pid, 0)
    child.wait()
