"""The generated files of both charts, by their path in the repository."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import yaml

from ragbase_operator import __version__
from ragbase_operator.builders.inputs import Images
from ragbase_operator.charts.operator_values import OperatorValues
from ragbase_operator.charts.ragbase_values import RagBaseValues
from ragbase_operator.charts.roles import roles
from ragbase_operator.charts.schema import as_json_schema, values_schema
from ragbase_operator.charts.values_file import values_table, values_yaml
from ragbase_operator.crd.pages import pages as crd_pages
from ragbase_operator.crd.schema import Schema, structural
from ragbase_operator.generated import stale_files, write_files
from ragbase_operator.models.base import Part
from ragbase_operator.models.ragbase import RagBaseSpec

__all__ = ["pages", "stale", "strangers", "write"]

OPERATOR = "charts/ragbase-operator"
RAGBASE = "charts/ragbase"
_COPIES = f"{OPERATOR}/files/crds"
_MADE = "Made by `make charts` out of the operator's models: change those."
_TABLE = ("<!-- values: made by `make charts` -->\n", "<!-- end of values -->\n")


def pages(root: Path) -> dict[str, str]:
    """Text of each generated file by its path.

    ``root`` holds what is written by hand: READMEs around their table, Chart.yaml around its
    version.
    """
    return {
        **{f"{_COPIES}/{Path(path).name}": text for path, text in _crds().items()},
        **{f"{OPERATOR}/files/rbac/{name}.yaml": _rules(rule) for name, rule in roles().items()},
        f"{OPERATOR}/values.schema.json": _json(_operator_schema()),
        f"{RAGBASE}/values.schema.json": _json(_ragbase_schema()),
        **_written(root, OPERATOR, OperatorValues),
        **_written(root, RAGBASE, RagBaseValues),
    }


def stale(root: Path) -> list[str]:
    """Paths below ``root`` that differ from what the models say, are missing, or are too many."""
    return [*stale_files(root, pages(root)), *strangers(root)]


def strangers(root: Path) -> list[str]:
    """Copies of CRDs that there no longer are."""
    known = {Path(path).name for path in _crds()}
    found = sorted((root / _COPIES).glob("*.yaml"))
    return [str(path.relative_to(root)) for path in found if path.name not in known]


def write(root: Path) -> None:
    """Write all of them below ``root``."""
    for path in strangers(root):
        (root / path).unlink()
    write_files(root, pages(root))


def _crds() -> dict[str, str]:
    return {path: text for path, text in crd_pages().items() if path.startswith("crds/")}


def _rules(rules: list[Any]) -> str:
    return f"# {_MADE}\n{yaml.safe_dump({'rules': rules}, sort_keys=False)}"


def _operator_schema() -> Schema:
    schema = values_schema(OperatorValues, "Values of the chart ragbase-operator")
    images = schema["properties"]["settings"]["properties"]["images"]
    images["properties"] = {field.name: images["additionalProperties"] for field in fields(Images)}
    images["additionalProperties"] = False
    return schema


def _ragbase_schema() -> Schema:
    spec = as_json_schema(structural(RagBaseSpec))
    return values_schema(RagBaseValues, "Values of the chart ragbase", spec=spec)


def _json(schema: Schema) -> str:
    return json.dumps({"$comment": _MADE, **schema}, indent=1, ensure_ascii=False) + "\n"


def _written(root: Path, chart: str, model: type[Part]) -> dict[str, str]:
    readme, about = f"{chart}/README.md", f"{chart}/Chart.yaml"
    return {
        f"{chart}/values.yaml": values_yaml(model, _MADE),
        readme: with_table((root / readme).read_text(encoding="utf-8"), values_table(model)),
        about: with_version((root / about).read_text(encoding="utf-8"), __version__),
    }


def with_table(text: str, table: str) -> str:
    """A README with ``table`` between its two marks. ValueError where they are missing."""
    before, first, rest = text.partition(_TABLE[0])
    _, last, after = rest.partition(_TABLE[1])
    if not (first and last):
        raise ValueError(f"a README needs the lines {_TABLE}")
    return f"{before}{first}\n{table}\n{last}{after}"


def with_version(text: str, version: str) -> str:
    """A Chart.yaml at the version of the product: the chart's, and of what it installs."""
    text = re.sub(r"(?m)^version: .*$", f"version: {version}", text)
    return re.sub(r"(?m)^appVersion: .*$", f'appVersion: "{version}"', text)
