"""Folders and kernel settings that the node's programs write, turned to the node's own.

All is done in a mount namespace of the node: the machine sees none of it.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final

__all__ = ["hide_machine"]

KEPT: Final = {"/var/lib/containerd": "containerd"}
"""Folders that outlive the node, by their names in its home: images."""

FORGOTTEN: Final = (
    "/etc/cni/net.d",
    "/run/containerd",
    "/run/netns",
    "/var/lib/cni",
    "/var/lib/kubelet",
    "/var/log/containers",
    "/var/log/pods",
)
"""Folders that begin empty with each start."""

KERNEL_SETTINGS: Final = (
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
)
"""What a kubelet sets for the whole machine: it writes to copies here."""


def hide_machine(home: Path, state: Path) -> None:
    """Mount the node's folders over the machine's; ``state`` is empty and on a disk."""
    for target, name in KEPT.items():
        bind(home / name, Path(target))
    for target in FORGOTTEN:
        bind(state / target.strip("/").replace("/", "-"), Path(target))
    for name in KERNEL_SETTINGS:
        setting = Path("/proc/sys") / name
        copy = state / name.replace("/", "-")
        copy.write_text(setting.read_text())
        mount(copy, setting)


def bind(source: Path, target: Path) -> None:
    """Mount a folder over another; both are made if need be."""
    source.mkdir(parents=True, exist_ok=True)
    target.mkdir(parents=True, exist_ok=True)
    mount(source, target)


def mount(source: Path, target: Path) -> None:
    """Bind ``source`` at ``target``."""
    subprocess.run(["mount", "--bind", str(source), str(target)], check=True)
