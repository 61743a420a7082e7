"""Prometheus and promtool: those on PATH, else Debian's package, unpacked into the cache."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["Binaries", "UnavailableError", "find_binaries"]

CACHE: Final = Path(
    os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"), "ragbase", "prometheus"
)
_TIMEOUT_S: Final = 300


class UnavailableError(Exception):
    """There is no Prometheus here; the message says what was tried."""


@dataclass(frozen=True, slots=True)
class Binaries:
    """Paths of the programs."""

    prometheus: Path
    promtool: Path


def find_binaries() -> Binaries:
    """The programs, after a download of 20 MB if need be; nothing is installed.

    Raises:
        UnavailableError: they are neither on PATH nor to be had from Debian's mirror.
    """
    found = _on_path()
    if found is not None:
        return found
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        binaries = Binaries(CACHE / "usr/bin/prometheus", CACHE / "usr/bin/promtool")
        if not binaries.promtool.exists():
            _unpack(CACHE)
    return binaries


def _on_path() -> Binaries | None:
    prometheus, promtool = shutil.which("prometheus"), shutil.which("promtool")
    return Binaries(Path(prometheus), Path(promtool)) if prometheus and promtool else None


def _unpack(target: Path) -> None:
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        raise UnavailableError("no prometheus and promtool on PATH, and no apt-get to fetch them")
    with tempfile.TemporaryDirectory(prefix="ragbase-prometheus-") as name:
        folder = Path(name)
        _run(["apt-get", "download", "prometheus"], folder)
        (package,) = folder.glob("prometheus_*.deb")
        _run(["dpkg-deb", "-x", str(package), str(folder / "unpacked")], folder)
        shutil.copytree(folder / "unpacked" / "usr" / "bin", target / "usr" / "bin")


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
    )
    if done.returncode != 0:
        raise UnavailableError(f"{' '.join(command)}: {done.stderr.strip()[-500:]}")
