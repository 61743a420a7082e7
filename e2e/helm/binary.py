"""Where Helm comes from.

In this order: ``RAGBASE_HELM`` (a path), the cache, a download of the published program, a build
from Go modules. What was downloaded or built goes to the cache.
"""

from __future__ import annotations

import io
import os
import platform
import sys
import tarfile
from pathlib import Path

from e2e.cluster.binaries import UnavailableError, locked, program
from e2e.cluster.build import build as build_programs
from e2e.cluster.download import fetch, place, verify
from e2e.helm.version import CACHE, HELM, MODULE

__all__ = ["find_helm"]

URL = "https://get.helm.sh"
PACKAGE = "helm.sh/helm/v4/cmd/helm"


def find_helm() -> Path:
    """The program, after a download or a build of some minutes if need be.

    Raises:
        UnavailableError: none of the ways led to it; the message says what was tried.
    """
    given = os.environ.get("RAGBASE_HELM")
    if given:
        return Path(given)
    with locked(CACHE):
        return program(CACHE, "helm") or fill(CACHE)


def fill(folder: Path) -> Path:
    """Download or build Helm into a folder."""
    reasons = []
    for way in (download, build):
        try:
            way(folder)
        except (OSError, RuntimeError) as error:
            reasons.append(f"{way.__name__}: {error}")
        if found := program(folder, "helm"):
            return found
    raise UnavailableError("no Helm; " + "; ".join(reasons))


def download(folder: Path) -> None:
    """The published program, checked against its published SHA-256.

    Raises:
        OSError: the server cannot be reached.
        RuntimeError: nothing is published for this machine, or the checksum differs.
    """
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine())
    if sys.platform != "linux" or machine is None:
        raise RuntimeError(f"nothing is published for {sys.platform} {platform.machine()}")
    name = f"helm-{HELM}-linux-{machine}.tar.gz"
    archive = fetch(f"{URL}/{name}")
    verify(archive, fetch(f"{URL}/{name}.sha256sum").decode().split()[0], name)
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        member = tar.extractfile(f"linux-{machine}/helm")
        if member is None:
            raise RuntimeError(f"{name} holds no helm")
        place(member.read(), folder / "helm")


def build(folder: Path) -> None:
    """A build from Go modules. Raises as `e2e.cluster.build.build`."""
    stamps = {"helm.sh/helm/v4/internal/version.version": HELM}
    build_programs(folder, {"helm": PACKAGE}, MODULE, stamps)
