"""Images of the node's containerd."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from e2e.node.archive import write_archive

__all__ = ["SYSTEM_USER", "import_archive", "system_images"]

SYSTEM_USER = "65535:65535"

CTR = ("ctr", "--namespace=k8s.io")
"""The client of the images that the kubelet sees."""


def system_images(programs: Path, folder: Path) -> list[Path]:
    """Archives of the images that the node itself needs; they must be there before the kubelet."""
    folder.mkdir(parents=True, exist_ok=True)
    archives = []
    for name, user in (("pause", SYSTEM_USER), ("coredns", "")):
        archive = folder / f"{name}.tar"
        write_archive(archive, f"localhost/{name}:1", programs / name, user)
        archives.append(archive)
    return archives


def import_archive(archive: Path, inside: Sequence[str] = ()) -> None:
    """Import an archive; ``inside`` is the command that enters the node, if we are not in it.

    Raises:
        RuntimeError: containerd refused it; the message holds its words.
    """
    command = [*inside, *CTR, "images", "import", str(archive)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"import of {archive.name}: {done.stderr.strip()[-500:]}")
