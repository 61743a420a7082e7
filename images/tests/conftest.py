"""Archives of built images: ``make test-images`` writes them to ``dist/images``.

``RAGBASE_REQUIRE`` is a list of names; with ``images`` among them nothing may be skipped.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from images.catalogue import IMAGES, ROOT, product_version
from images.local_base import LOCAL_BASE
from images.tests.container import RUNC, Unpacked, unpack

REQUIRED = "images" in os.environ.get("RAGBASE_REQUIRE", "").replace(",", " ").split()
FOLDER = Path(os.environ.get("RAGBASE_IMAGE_ARCHIVES") or ROOT / "dist/images")


def cannot(reason: str) -> None:
    """Skip, or fail where nothing may be skipped."""
    (pytest.fail if REQUIRED else pytest.skip)(reason)


def archive_name(reference: str) -> str:
    return f"{reference.rpartition('/')[2].replace(':', '_')}.tar"


@pytest.fixture(scope="session")
def archive() -> Callable[[str], Path]:
    """The archive of an image by its folder's name; ``base``: that of the base."""

    def find(name: str) -> Path:
        version = product_version()
        reference = LOCAL_BASE if name == "base" else IMAGES[name].reference("x", version)
        path = FOLDER / archive_name(reference)
        if not path.is_file():
            cannot(f"{path} is not there: `make test-images` builds it")
        return path

    return find


@pytest.fixture(scope="session")
def unpacked(archive: Callable[[str], Path]) -> Iterator[Callable[[str], Unpacked]]:
    """An image, unpacked once a run."""
    if RUNC is None or os.geteuid() != 0:
        cannot("images are run by runc, as root")
    folder = Path(tempfile.mkdtemp(prefix="ragbase-images-test-"))
    try:
        yield cache(lambda name: unpack(archive(name), folder / name))
    finally:
        shutil.rmtree(folder)
