"""What is built from each file, to the last field.

``UPDATE_GOLDEN=1 pytest operator/tests/builders/test_golden.py`` writes it again; read the diff.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import yaml

GOLDEN = Path(__file__).parent / "golden"


class _Plain(yaml.SafeDumper):
    """Without anchors: a file is read by people."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def test_golden(source: str, children: list[dict[str, Any]]) -> None:
    """The children of each file are those that are written down."""
    built = yaml.dump_all(children, Dumper=_Plain, sort_keys=False, width=100)
    path = GOLDEN / f"{source}.yaml"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(built, encoding="utf-8")
    assert path.exists(), f"{path.name} is missing: run with UPDATE_GOLDEN=1"
    assert built == path.read_text(encoding="utf-8")


def test_no_golden_file_is_left_over() -> None:
    """Each file of children has the RagBase that it is built from."""
    here = Path(__file__).parents[3]
    inputs = {path.stem for path in (Path(__file__).parent / "inputs").glob("*.yaml")}
    samples = {f"sample-{path.stem}" for path in (here / "crds" / "samples").glob("*.yaml")}
    assert {path.stem for path in GOLDEN.glob("*.yaml")} <= inputs | samples
