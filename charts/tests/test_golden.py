"""What is rendered from each file of values, to the last field.

CRDs, dashboards and rules are left out: they are copies of files. ``UPDATE_GOLDEN=1 pytest
charts/tests/test_golden.py`` writes it again; read the diff.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from e2e.helm import Helm
from ragbase_operator import __version__

from .objects import values_files

GOLDEN = Path(__file__).parent / "golden"
COPIED = {"CustomResourceDefinition", "ConfigMap", "PrometheusRule"}


def _name(values: Path) -> str:
    return f"{values.parents[1].name}-{values.stem.removesuffix('-values')}"


@pytest.mark.parametrize("values", values_files(), ids=_name)
def test_golden(helm: Helm, values: Path) -> None:
    where = ("--namespace", "retrieval")
    objects = helm.template("docs", values.parents[1], "--values", str(values), *where)
    kept = [each for each in objects if each["kind"] not in COPIED]
    text = yaml.safe_dump_all(kept, width=100).replace(__version__, "VERSION")
    path = GOLDEN / f"{_name(values)}.yaml"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert path.exists(), f"{path.name} is missing: run with UPDATE_GOLDEN=1"
    assert text == path.read_text(encoding="utf-8")


def test_no_golden_file_is_left_over() -> None:
    assert {path.stem for path in GOLDEN.glob("*.yaml")} == {_name(each) for each in values_files()}
