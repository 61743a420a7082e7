"""A build of programs from Go modules: some minutes, once for each version."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from e2e.cluster.version import KUBERNETES, MODULE

__all__ = ["COMMANDS", "build"]

COMMANDS = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
}
"""Programs of a control plane and the packages they are built from."""


def build(
    folder: Path,
    commands: Mapping[str, str] = COMMANDS,
    module: Path = MODULE,
    stamps: Mapping[str, str] | None = None,
) -> None:
    """Build those of ``commands`` that ``folder`` lacks, at the versions that ``module`` pins.

    ``stamps`` are Go variables and the values that they get; left out: Kubernetes' version.

    Raises:
        RuntimeError: there is no Go, or the build failed; the message holds its last words.
    """
    go = shutil.which("go")
    if go is None:
        raise RuntimeError("no Go compiler on PATH")
    folder.mkdir(parents=True, exist_ok=True)
    for name, package in commands.items():
        if not (folder / name).exists():
            print(f"Building {name} …", file=sys.stderr)
            build_one(go, package, module, folder / name, flags(stamps))


def build_one(go: str, package: str, module: Path, target: Path, ldflags: str) -> None:
    """Build one program; ``target`` appears only when it is whole."""
    unfinished = target.with_name(f".{target.name}-{os.getpid()}")
    done = subprocess.run(
        [go, "build", "-trimpath", "-ldflags", ldflags, "-o", str(unfinished), package],
        cwd=module,
        env={**os.environ, "CGO_ENABLED": "0"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"go build {package}: {done.stdout.strip()[-500:]}")
    unfinished.replace(target)


def flags(stamps: Mapping[str, str] | None = None) -> str:
    """Without symbols, and with ``stamps``; left out: the version that the API server tells."""
    chosen = kubernetes_stamps() if stamps is None else stamps
    return "-s -w " + " ".join(f"-X {name}={value}" for name, value in chosen.items())


def kubernetes_stamps() -> dict[str, str]:
    """Where Kubernetes keeps its version."""
    major, minor, _ = KUBERNETES.removeprefix("v").split(".")
    package = "k8s.io/component-base/version"
    values = {"gitVersion": KUBERNETES, "gitMajor": major, "gitMinor": minor}
    return {f"{package}.{name}": value for name, value in values.items()}
