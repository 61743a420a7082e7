"""Where the control plane's programs come from.

In this order: ``KUBEBUILDER_ASSETS``, the cache, a download of the published programs, a build
from Go modules. What was downloaded or built goes to the cache.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from e2e.cluster.build import build
from e2e.cluster.download import download
from e2e.cluster.version import CACHE

__all__ = ["Binaries", "UnavailableError", "find_binaries"]


class UnavailableError(Exception):
    """No control plane can be had here; the message says what was tried."""


@dataclass(frozen=True, slots=True)
class Binaries:
    """Paths of the programs; ``controller_manager`` None: no garbage collection, no controllers."""

    etcd: Path
    apiserver: Path
    controller_manager: Path | None


def find_binaries() -> Binaries:
    """The programs, after a download or a build of some minutes if need be.

    Raises:
        UnavailableError: none of the ways led to them.
    """
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    given = in_folder(Path(assets)) if assets else None
    if given:
        return given
    with locked(CACHE):
        return whole(CACHE) or fill(CACHE)


def fill(folder: Path) -> Binaries:
    """Download or build what a folder lacks."""
    reasons = []
    for way in (download, build):
        try:
            way(folder)
        except (OSError, RuntimeError) as error:
            reasons.append(f"{way.__name__}: {error}")
        if found := whole(folder):
            return found
    raise UnavailableError("no Kubernetes control plane; " + "; ".join(reasons))


def whole(folder: Path) -> Binaries | None:
    """The programs in a folder, if none is missing."""
    found = in_folder(folder)
    return found if found and found.controller_manager else None


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One run at a time; the others wait for what it fetches or builds."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def in_folder(folder: Path) -> Binaries | None:
    """The programs in a folder; etcd may be one that is installed on the machine."""
    apiserver = program(folder, "kube-apiserver")
    etcd = program(folder, "etcd") or installed("etcd")
    if apiserver is None or etcd is None:
        return None
    return Binaries(etcd, apiserver, program(folder, "kube-controller-manager"))


def program(folder: Path, name: str) -> Path | None:
    """An executable in a folder, if it is there."""
    path = folder / name
    return path if os.access(path, os.X_OK) else None


def installed(name: str) -> Path | None:
    """An executable on PATH."""
    path = shutil.which(name)
    return Path(path) if path else None
