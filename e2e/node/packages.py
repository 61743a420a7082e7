"""What must be installed on the machine, by the names of Debian's packages."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

__all__ = ["IMAGES", "NODE", "MissingPackagesError", "have"]

NODE: Final = {
    "containerd": "containerd",
    "ctr": "containerd",
    "runc": "runc",
    "/usr/lib/cni/bridge": "containernetworking-plugins",
    "nft": "nftables",
    "conntrack": "conntrack",
    "ip": "iproute2",
    "unshare": "util-linux",
    "mount": "mount",
    "openssl": "openssl",
}
"""Programs that a node runs, and the packages that bring them."""

IMAGES: Final = {"buildah": "buildah", "debootstrap": "debootstrap"}
"""The same for building stand-in images."""

FOLDERS: Final = ("/usr/sbin", "/sbin", "/usr/bin", "/bin")


class MissingPackagesError(RuntimeError):
    """The message says what to install, and how."""


def have(programs: Mapping[str, str]) -> None:
    """Return once all programs are there; as root, packages are installed, and it is said.

    Raises:
        MissingPackagesError: we are not root, or the installation failed.
    """
    packages = missing(programs)
    if not packages:
        return
    command = ["apt-get", "install", "-y", "--no-install-recommends", *packages]
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise MissingPackagesError(f"not installed; run: sudo {' '.join(command)}")
    print(f"Installing {' '.join(packages)} (Debian's) …", file=sys.stderr)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for step in (["apt-get", "update", "-q"], command):
        done = subprocess.run(step, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise MissingPackagesError(f"{' '.join(step)}: {done.stderr.strip()[-500:]}")


def missing(programs: Mapping[str, str]) -> list[str]:
    """Packages of the programs that are absent, each once."""
    return sorted({package for name, package in programs.items() if not present(name)})


def present(name: str) -> bool:
    """Whether a program, or the file at an absolute path, is there."""
    if name.startswith("/"):
        return Path(name).exists()
    path = os.pathsep.join((os.environ.get("PATH", ""), *FOLDERS))
    return shutil.which(name, path=path) is not None
