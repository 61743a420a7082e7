"""Images of the node's containerd."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from e2e.node.archive import write_archive

__all__ = ["import_archive", "load", "system_images"]

SYSTEM_USER = "65535:65535"

LABEL = "ragbase.dev/image-id"
"""On images of the node: what they were in buildah's store, so that nothing is imported twice."""

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
    """Import an archive; ``inside`` is the command that enters the node, if we are not in it."""
    output([*inside, *CTR, "images", "import", str(archive)])


def load(reference: str, inside: Sequence[str], folder: Path) -> bool:
    """Bring an image of buildah's store into the node; False if it was there already.

    ``folder`` is one that the node sees, too.

    Raises:
        RuntimeError: there is no such image, or no room for it.
    """
    identity = output(
        ["buildah", "inspect", "--type=image", "--format={{.FromImageID}}", reference]
    )
    label = f"{LABEL}={identity.strip()}"
    if label in output([*inside, *CTR, "images", "list", f"name=={reference}"]):
        return False
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        archive = Path(scratch) / "image.tar"
        output(["buildah", "push", "--quiet", reference, f"docker-archive:{archive}:{reference}"])
        import_archive(archive, inside)
    output([*inside, *CTR, "images", "label", reference, label])
    return True


def output(command: Sequence[str]) -> str:
    """What a command says.

    Raises:
        RuntimeError: it failed; the message holds its last words.
    """
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()[-500:]}")
    return done.stdout
