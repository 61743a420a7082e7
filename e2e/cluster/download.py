"""The published programs, where the internet allows."""

from __future__ import annotations

import hashlib
import io
import os
import platform
import sys
import tarfile
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from e2e.cluster.version import ETCD, KUBERNETES

__all__ = ["download"]

TIMEOUT_S = 5.0
"""Seconds without a byte before the next way is tried: many machines of builds have no internet."""

KUBERNETES_URL = "https://dl.k8s.io/release"
ETCD_URL = "https://github.com/etcd-io/etcd/releases/download"


CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-controller-manager")


def download(folder: Path, programs: Sequence[str] = CONTROL_PLANE) -> None:
    """Fetch what ``folder`` lacks, each file checked against its published SHA-256.

    Raises:
        OSError: a server cannot be reached (`urllib.error.URLError` is one).
        RuntimeError: no programs are published for this machine, or a checksum differs.
    """
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine())
    if sys.platform != "linux" or machine is None:
        raise RuntimeError(f"nothing is published for {sys.platform} {platform.machine()}")
    folder.mkdir(parents=True, exist_ok=True)
    for name in programs:
        if name != "etcd" and not (folder / name).exists():
            url = f"{KUBERNETES_URL}/{KUBERNETES}/bin/linux/{machine}/{name}"
            program = fetch(url)
            verify(program, fetch(f"{url}.sha256").decode().strip(), url)
            place(program, folder / name)
    if "etcd" in programs and not (folder / "etcd").exists():
        place(etcd(machine), folder / "etcd")


def etcd(machine: str) -> bytes:
    """The program in etcd's published archive."""
    stem = f"etcd-{ETCD}-linux-{machine}"
    archive = fetch(f"{ETCD_URL}/{ETCD}/{stem}.tar.gz")
    lines = fetch(f"{ETCD_URL}/{ETCD}/SHA256SUMS").decode().splitlines()
    sums = {name: sha256 for sha256, name in map(str.split, lines)}
    verify(archive, sums[f"{stem}.tar.gz"], stem)
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        member = tar.extractfile(f"{stem}/etcd")
        if member is None:
            raise RuntimeError(f"{stem} holds no etcd")
        return member.read()


def fetch(url: str) -> bytes:
    """The body at an https address."""
    with urllib.request.urlopen(url, timeout=TIMEOUT_S) as response:
        body: bytes = response.read()
    return body


def verify(body: bytes, sha256: str, what: str) -> None:
    """Refuse a body whose SHA-256 is another."""
    if hashlib.sha256(body).hexdigest() != sha256:
        raise RuntimeError(f"the checksum of {what} differs from the published one")


def place(body: bytes, target: Path) -> None:
    """Write an executable; it appears only when it is whole."""
    unfinished = target.with_name(f".{target.name}-{os.getpid()}")
    unfinished.write_bytes(body)
    unfinished.chmod(0o755)
    unfinished.replace(target)
