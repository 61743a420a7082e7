"""The node's own programs, from the cache, a download, or a build."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from e2e.cluster.binaries import Binaries, UnavailableError, in_folder, locked
from e2e.cluster.build import COMMANDS, build
from e2e.cluster.download import CONTROL_PLANE, download
from e2e.cluster.version import CACHE

__all__ = ["node_programs"]

MODULE: Final = Path(__file__).parent / "programs"
"""The Go module of CoreDNS and of the sandbox's first process."""

KUBERNETES: Final = ("kubelet", "kube-scheduler", "kube-proxy", "kubectl")
PUBLISHED: Final = (*CONTROL_PLANE, *KUBERNETES)
OWN: Final = {"coredns": "./coredns", "pause": "./pause"}


def node_programs() -> tuple[Path, Binaries]:
    """The folder that holds all programs, and those of the control plane among them.

    Raises:
        UnavailableError: a program could neither be downloaded nor built.
    """
    with locked(CACHE):
        reasons = fill(CACHE)
    control_plane = in_folder(CACHE)
    if control_plane is None or lacking(CACHE):
        names = ", ".join(lacking(CACHE))
        raise UnavailableError(f"a node needs {names}; {'; '.join(reasons)}")
    return CACHE, control_plane


def fill(folder: Path) -> list[str]:
    """Download or build what a folder lacks; why each way failed that did."""
    reasons = []
    commands = COMMANDS | {name: f"k8s.io/kubernetes/cmd/{name}" for name in KUBERNETES}
    ways: tuple[tuple[str, Callable[[], None]], ...] = (
        ("download", lambda: download(folder, PUBLISHED)),
        ("build", lambda: build(folder, commands)),
        ("build", lambda: build(folder, OWN, MODULE)),
    )
    for name, way in ways:
        if not lacking(folder):
            break
        try:
            way()
        except (OSError, RuntimeError) as error:
            reasons.append(f"{name}: {error}")
            print(reasons[-1], file=sys.stderr)
    return reasons


def lacking(folder: Path) -> list[str]:
    """Names of the programs that a folder lacks."""
    return [name for name in (*PUBLISHED, *OWN) if not (folder / name).exists()]
