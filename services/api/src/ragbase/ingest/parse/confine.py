"""Bounds that a parser process puts on itself before it sees a byte of the file.

Linux keeps all of them. macOS keeps all but the address space, and Windows has none of these calls:
there the time-out of the API, which ends the process, is the only bound.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import sys
from pathlib import Path

__all__ = ["confine"]

_NICENESS = 10
_FILES_MAX = 32


def confine(timeout_s: float, memory_bytes: int) -> None:
    """Bound this process for good; beyond the bounds the kernel ends it, whatever runs.

    ``timeout_s`` bounds the time on the clock (SIGALRM) and on the CPU (SIGXCPU), ``memory_bytes``
    the address space. It can write no file, start no process
    (but as root) and leaves no core.
    """
    if sys.platform == "win32":
        return
    import resource

    for name in ("SIGALRM", "SIGXCPU", "SIGTERM", "SIGINT", "SIGCHLD", "SIGPIPE"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, timeout_s)
    seconds = math.ceil(timeout_s)
    for limit, value in (
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, _FILES_MAX),
        (resource.RLIMIT_NPROC, 0),
    ):
        _bound(limit, value)
    os.nice(_NICENESS)  # answers to searches go first
    with contextlib.suppress(OSError):  # Linux only: out of memory, the parser goes, not the API
        Path("/proc/self/oom_score_adj").write_text("1000")


def _bound(limit: int, value: int) -> None:
    import resource

    _, most = resource.getrlimit(limit)
    if most != resource.RLIM_INFINITY:
        value = min(value, most)
    with contextlib.suppress(OSError, ValueError):  # macOS refuses RLIMIT_AS below what is mapped
        resource.setrlimit(limit, (value, value))
