"""``docs/labels.md`` names every label, annotation and finalizer that the product sets or reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ragbase_operator.builders import components
from ragbase_operator.builders.labels import CONFIG_HASH, MIGRATION_HASH, OWNER_LABEL
from ragbase_operator.handlers.configure import FINALIZER
from ragbase_operator.reconcile.reading import PAUSED

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "labels.md").read_text()
OURS = re.compile(r"(app\.kubernetes\.io|ragbase\.dev|helm\.sh|rbac\.authorization\.k8s\.io)/.*")
FILES = [
    ROOT / "operator" / "tests" / "builders" / "golden" / "everything.yaml",
    *sorted((ROOT / "charts" / "tests" / "golden").glob("*.yaml")),
]


@pytest.mark.parametrize("key", [OWNER_LABEL, CONFIG_HASH, MIGRATION_HASH, PAUSED, FINALIZER])
def test_what_the_operator_knows_by_name_is_on_the_page(key: str) -> None:
    assert f"`{key}`" in PAGE


def test_renders_of_the_charts_are_looked_at() -> None:
    assert len(FILES) > 5


def test_every_component_is_on_the_page() -> None:
    names = {
        value
        for name, value in vars(components).items()
        if name.isupper() and isinstance(value, str) and not name.startswith("_")
    }
    assert names
    assert {name for name in names if f"`{name}`" not in PAGE} == set()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_key_that_is_set_is_on_the_page(path: Path) -> None:
    keys = {key for each in yaml.safe_load_all(path.read_text()) for key in _keys(each)}
    ours = {key for key in keys if OURS.fullmatch(key)}
    assert ours
    assert {key for key in ours if not _is_named(key)} == set()


def _is_named(key: str) -> bool:
    aggregated = re.sub(r"aggregate-to-\w+", "aggregate-to-{view,edit,admin}", key)
    return any(f"`{each}" in PAGE for each in (key, aggregated))


def _keys(body: Any) -> Iterator[str]:
    """Keys of all labels and annotations, those of pod templates, too."""
    if isinstance(body, dict):
        for name, value in body.items():
            if name in ("labels", "annotations") and isinstance(value, dict):
                yield from value
            else:
                yield from _keys(value)
    elif isinstance(body, list):
        for each in body:
            yield from _keys(each)
