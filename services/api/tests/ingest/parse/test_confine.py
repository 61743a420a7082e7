"""Bounds of a process that reads files, as the kernel keeps them."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

LOOK = """
import resource, signal
from ragbase.ingest.parse.confine import confine
confine({timeout}, {memory})
"""


def run(
    code: str, timeout: float = 5, memory: int = 512 * 1024**2
) -> subprocess.CompletedProcess[str]:
    script = LOOK.format(timeout=timeout, memory=memory) + code
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=30
    )


def test_time_ends_the_process_whatever_it_does() -> None:
    assert run("import time; time.sleep(20)", timeout=0.2).returncode == -signal.SIGALRM
    ignoring = "signal.signal(signal.SIGALRM, signal.SIG_IGN)\nwhile True: pass"
    assert run(ignoring, timeout=0.2).returncode in (-signal.SIGXCPU, -signal.SIGKILL)


def test_memory_is_refused() -> None:
    assert "MemoryError" in run("x = b'x' * 600_000_000").stderr


def test_no_file_is_written_and_no_core_left(tmp_path: Path) -> None:
    path = tmp_path / "x"
    refused = run(f"f = open({str(path)!r}, 'w'); f.write('text'); f.close()")
    assert "File too large" in refused.stderr
    assert path.read_text() == ""
    assert run("print(resource.getrlimit(resource.RLIMIT_CORE))").stdout.strip() == "(0, 0)"


@pytest.mark.skipif(sys.platform != "linux", reason="Linux only")
def test_the_kernel_takes_it_first() -> None:
    assert run("print(open('/proc/self/oom_score_adj').read())").stdout.strip() == "1000"
