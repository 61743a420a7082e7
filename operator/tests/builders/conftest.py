"""RagBases to build from: those of the samples, and some that use what no sample does."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from ragbase_operator.builders.build import build
from ragbase_operator.builders.images import default_images
from ragbase_operator.builders.inputs import Inputs
from ragbase_operator.builders.kinds import FOREIGN_KINDS, FRESH
from ragbase_operator.models.objects import RagBase
from ragbase_operator.models.ragbase import RagBaseSpec

from .found import Found

HERE = Path(__file__).parent
SAMPLES = HERE.parents[2] / "crds" / "samples"
UID = "0b6c6f1e-8f6b-4c53-9d0b-1f4f6a1f3c11"
Make = Callable[..., RagBase]


@functools.cache
def sources() -> dict[str, Path]:
    """Files with a RagBase, by the name of what is built from them."""
    own = {path.stem: path for path in sorted((HERE / "inputs").glob("*.yaml"))}
    samples = {
        f"sample-{path.stem}": path
        for path in sorted(SAMPLES.glob("*.yaml"))
        if any(each.get("kind") == "RagBase" for each in documents(path))
    }
    return own | samples


def documents(path: Path) -> list[dict[str, Any]]:
    return [each for each in yaml.safe_load_all(path.read_text(encoding="utf-8")) if each]


@functools.cache
def read(path: Path) -> RagBase:
    found = next(each for each in documents(path) if each["kind"] == "RagBase")
    metadata = found["metadata"]
    return RagBase(
        name=metadata["name"],
        namespace=metadata.get("namespace", "default"),
        uid=UID,
        generation=1,
        spec=RagBaseSpec.model_validate(found.get("spec") or {}),
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test of ``source`` runs for every file."""
    chosen = {mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")}
    if "source" in metafunc.fixturenames and "source" not in chosen:
        metafunc.parametrize("source", sources())


@pytest.fixture
def ragbase(source: str) -> RagBase:
    """The RagBase of one file."""
    return read(sources()[source])


@pytest.fixture
def inputs() -> Inputs:
    """A cluster that knows all foreign kinds, and a first reconcile: no Secret exists."""
    fresh = {
        purpose: f"{number}{purpose.encode().hex():0<63.63}" for number, purpose in enumerate(FRESH)
    }
    return Inputs(
        version="1.2.3",
        images=default_images("registry.example.com/ragbase", "1.2.3"),
        fresh=fresh,
        kinds=frozenset(kind.foreign_name for kind in FOREIGN_KINDS),
    )


@pytest.fixture
def make() -> Make:
    """A RagBase of a spec: ``make({"graph": {"enabled": True}}, name="docs")``."""

    def made(spec: dict[str, Any] | None = None, **more: Any) -> RagBase:
        identity = {"name": "docs", "namespace": "search", "uid": UID, "generation": 1}
        return RagBase(spec=RagBaseSpec.model_validate(spec or {}), **{**identity, **more})

    return made


@pytest.fixture
def children(ragbase: RagBase, inputs: Inputs) -> list[dict[str, Any]]:
    """What is built from one file."""
    return build(ragbase, inputs)


@pytest.fixture
def found() -> Found:
    return Found()
