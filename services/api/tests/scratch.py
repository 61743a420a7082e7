"""Where the databases of a run lie: in memory, where there is enough.

A database a test is 430 files. On a disk, making and removing them costs ten times what it costs in
memory (0.5 s against 0.05 s on two busy cores), and nothing of them outlives the run.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import psutil

__all__ = ["scratch_folder"]

MEMORY = Path("/dev/shm")  # a disk in memory wherever glibc runs; 64 MB in most containers
NEEDED_BYTES = 2 * 1024**3
"""Data and write-ahead log of the run's servers stay well below it."""
PREFIX = "ragbase-tests-"


def scratch_folder() -> Path:
    """A new folder that the server's unprivileged user can pass through; the caller removes it."""
    parent = MEMORY if _is_roomy(MEMORY) else Path(tempfile.gettempdir())
    _remove_abandoned(parent)
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=parent))
    folder.chmod(0o711)
    return folder


def _is_roomy(folder: Path) -> bool:
    if not os.access(folder, os.W_OK | os.X_OK):
        return False
    free = shutil.disk_usage(folder).free
    return min(free, psutil.virtual_memory().available) >= NEEDED_BYTES


def _remove_abandoned(parent: Path) -> None:
    """Folders of runs that were killed; memory would stay taken until the next start."""
    for folder in parent.glob(f"{PREFIX}*-*"):
        pid = folder.name.removeprefix(PREFIX).split("-")[0]
        if pid.isdigit() and not psutil.pid_exists(int(pid)):
            shutil.rmtree(folder, ignore_errors=True)
