"""The generated files of the repository."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from ragbase_operator.crd.__main__ import main
from ragbase_operator.crd.manifest import definition
from ragbase_operator.crd.pages import as_yaml, crd_path, pages, stale, write
from ragbase_operator.models.kinds import KINDS

ROOT = Path(__file__).parents[3]


def test_files_of_the_repository_are_up_to_date() -> None:
    assert stale(ROOT) == []


def test_what_is_written_is_not_stale(tmp_path: Path) -> None:
    write(tmp_path)
    assert stale(tmp_path) == []
    assert {str(each.relative_to(tmp_path)) for each in tmp_path.rglob("*.*")} == set(pages())


def test_a_changed_and_a_missing_file_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--root", str(tmp_path)]) == 0
    changed, missing, *_ = pages()
    (tmp_path / changed).write_text("kind: Other\n", encoding="utf-8")
    (tmp_path / missing).unlink()
    assert main(["--root", str(tmp_path), "--check"]) == 1
    assert capsys.readouterr().err == (
        f"Out of date: {changed}, {missing}\n`make crds` writes them again.\n"
    )


def test_files_hold_the_definitions_without_anchors() -> None:
    for kind in KINDS:
        text = pages()[crd_path(kind)]
        assert yaml.safe_load(text) == definition(kind)
        assert not re.search(r"^\s*[\w-]+: [&*]", text, re.MULTILINE)


def test_yaml_keeps_the_order_of_keys() -> None:
    assert as_yaml({"kind": "B", "apiVersion": "a"}) == "kind: B\napiVersion: a\n"


def test_the_reference_has_every_field_and_every_rule() -> None:
    page = pages()["docs/crd-reference.md"]
    for line in (
        '| `spec.database.mode` | `managed`, `cnpg`, `external` | `"managed"` |',
        "| `spec.rerankers[].name` | string (at most 30) | *required* |",
        "| `status.conditions[].reason` |",
        "| `pod.env` |",
        "- `spec.rerankers[]`: TEI cannot run Qwen rerankers: use engine ragbase.",
    ):
        assert line in page


def test_the_override_of_one_gpu_is_in_one_sample_and_nowhere_else() -> None:
    folders = ("crds", "operator/src", "services/api/src", "services/inference/src")
    found = [
        path.relative_to(ROOT).as_posix()
        for folder in folders
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".yaml", ".py", ".md", ".toml"}
        and "HSA_OVERRIDE_GFX_VERSION" in path.read_text(encoding="utf-8")
    ]
    assert found == ["crds/samples/amd-gfx1151.yaml"]
