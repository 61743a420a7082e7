"""A base image of Debian's own packages, where no registry can be reached: needs root."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

__all__ = ["LOCAL_BASE", "make_base"]

LOCAL_BASE: Final = "localhost/python:3.11"
_SUITE: Final = "bookworm"
_PACKAGES: Final = "python3,python3-venv,ca-certificates"
_ENVIRONMENT: Final = ("PYTHONUNBUFFERED=1", "LANG=C.UTF-8")


def _run(*command: str) -> str:
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()


def _exists(reference: str) -> bool:
    command = ["buildah", "inspect", "--type", "image", reference]
    done = subprocess.run(command, capture_output=True, check=False)
    return done.returncode == 0


def make_base(reference: str = LOCAL_BASE) -> None:
    """Make the image with debootstrap and Buildah, unless it is there; some two minutes."""
    missing = [name for name in ("debootstrap", "buildah") if shutil.which(name) is None]
    if missing:
        raise FileNotFoundError(f"{' and '.join(missing)} not found: install Debian's packages")
    if _exists(reference):
        return
    with tempfile.TemporaryDirectory(prefix="ragbase-base-") as folder:
        root = Path(folder) / "root"
        _run("debootstrap", "--variant=minbase", f"--include={_PACKAGES}", _SUITE, str(root))
        for cache in ("var/cache/apt/archives", "var/lib/apt/lists"):
            shutil.rmtree(root / cache)
            (root / cache / "partial").mkdir(parents=True)
        container = _run("buildah", "from", "scratch")
        _run("buildah", "add", "--quiet", container, str(root), "/")
        settings = [f"--env={pair}" for pair in _ENVIRONMENT]
        _run("buildah", "config", "--cmd", "python3", *settings, container)
        _run("buildah", "commit", "--quiet", "--rm", container, reference)
