"""How many CPU cores this process may really use."""

from __future__ import annotations

import math
import os
from pathlib import Path

__all__ = ["usable_cores"]

_CGROUP_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def usable_cores(quota_file: Path = _CGROUP_QUOTA) -> int:
    """Cores by affinity and container quota, at least 1.

    ONNX Runtime's own default counts the cores of the machine: in a container limited to two of
    sixty-four, sixty-four threads would take turns on two.
    """
    affinity = getattr(os, "sched_getaffinity", None)  # Linux only
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, min(cores, _quota(quota_file) or cores))


def _quota(path: Path) -> int | None:
    """Cores of a cgroup v2 quota, rounded up; None without one. The file reads ``max 100000``."""
    try:
        quota, period = path.read_text(encoding="ascii").split()
        return math.ceil(int(quota) / int(period))
    except (OSError, ValueError):
        return None
