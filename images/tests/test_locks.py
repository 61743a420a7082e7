"""The locks that images are made of."""

from __future__ import annotations

import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from images.catalogue import ROOT

WITH_TORCH = {"services/inference": ("server", "torch", "gliner")}
LOCKS: dict[str, dict[str, tuple[str, ...]]] = {
    "operator": {"operator": ()},
    "api": {"services/api": ("ner", "lightrag", "graph"), "services/inference": ("gguf",)},
    "inference-cpu": {"services/inference": ("server",)},
    "inference-cuda": WITH_TORCH,
    "inference-torch": WITH_TORCH,
}
"""The packages of each, with the extras that are in the image."""
OF_IMAGES = [*LOCKS, "postgres-client", "openmp", "sbom", "model", "uv"]
_PIN = re.compile(r"^([\w.-]+)==([^\s;\\]+)", re.MULTILINE)


def text(lock: str) -> str:
    return (ROOT / "requirements" / f"{lock}.txt").read_text()


def versions(lock: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for name, version in _PIN.findall(text(lock)):
        found.setdefault(canonicalize_name(name), set()).add(version)
    return found


def declared(folder: str, extras: tuple[str, ...]) -> set[str]:
    """What a package names in its pyproject.toml, as far as it is needed on Linux."""
    project = tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]
    lines = list(project["dependencies"])
    for extra in extras:
        lines += project["optional-dependencies"][extra]
    needed = [Requirement(line) for line in lines]
    return {canonicalize_name(each.name) for each in needed}


@pytest.mark.parametrize("lock", OF_IMAGES)
def test_every_requirement_has_a_version_and_hashes_and_no_place(lock):
    blocks = re.split(r"\n(?=\S)", text(lock).strip())
    assert blocks
    for block in blocks:
        assert _PIN.match(block), block.splitlines()[0]
        assert "--hash=sha256:" in block
        assert "://" not in block
        assert "--index" not in block


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_holds_what_its_package_declares(lock):
    needed = set().union(*(declared(folder, extras) for folder, extras in LOCKS[lock].items()))
    absent = needed - versions(lock).keys()
    # torch for ROCm or a plain CPU is installed by a step of its own.
    assert absent <= ({"torch"} if lock == "inference-torch" else {"ragbase-inference"})


@pytest.mark.parametrize("lock", ["operator", "api", "inference-cpu", "sbom", "postgres-client"])
def test_images_run_the_versions_that_were_tested(lock):
    tested = versions("dev")
    for name, found in versions(lock).items():
        if name in tested:
            assert found == tested[name]


@pytest.mark.parametrize("lock", ["inference-cuda", "inference-torch"])
def test_images_with_torch_run_the_versions_that_were_tested(lock):
    tested = versions("torch")
    for name, found in versions(lock).items():
        assert found == tested[name]


def test_no_library_of_another_vendors_gpu_is_installed_for_rocm():
    found = versions("inference-torch")
    assert not [name for name in found if name.startswith(("nvidia-", "cuda-", "torch", "triton"))]


def test_the_small_images_hold_no_torch():
    for lock in ("operator", "api", "inference-cpu"):
        assert "torch" not in versions(lock)
