"""A test run that is killed leaves no process and, by the next run, no folder."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from e2e.cluster import ControlPlane
from e2e.cluster.control_plane import new_folder

RUN = """
import sys, time
from pathlib import Path
from e2e.cluster import Binaries, ControlPlane
etcd, apiserver = map(Path, sys.argv[1:])
with ControlPlane(Binaries(etcd, apiserver, None)) as running:
    print(running.folder, *running.pids(), flush=True)
    time.sleep(600)
"""


def runs(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        stat = Path("/proc", str(pid), "stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux tells a process of its parent's end"
)
def test_nothing_outlives_a_run_that_is_killed(api_server: ControlPlane) -> None:
    programs = (str(api_server.binaries.etcd), str(api_server.binaries.apiserver))
    command = [sys.executable, "-c", RUN, *programs]
    root = Path(__file__).parents[3]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        folder, *pids = run.stdout.readline().split()
        assert len(pids) == 2
        assert all(runs(int(pid)) for pid in pids)
        run.send_signal(signal.SIGKILL)
    end = time.monotonic() + 10
    while any(runs(int(pid)) for pid in pids):
        assert time.monotonic() < end
        time.sleep(0.05)
    assert Path(folder).exists()
    new_folder().rmdir()
    assert not Path(folder).exists()
    assert api_server.folder.exists()
