"""The generated files: dashboards as JSON, rules as YAML."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import yaml

from charts.monitoring.dashboards import BOARDS
from ragbase_operator.builders.rules import EVERYWHERE, operator_groups, stack_groups

__all__ = ["FOLDER", "OPERATOR_RULES", "STACK_RULES", "rendered", "stale"]

FOLDER: Final = Path(__file__).parents[1] / "ragbase-operator" / "files"
OPERATOR_RULES: Final = "rules/ragbase-operator.yaml"
"""What the chart makes a PrometheusRule of."""
STACK_RULES: Final = "prometheus/ragbase.yaml"
"""For a Prometheus without its operator: with it, each RagBase brings its own PrometheusRule, and
the chart must not bring the same alerts again."""
_HEAD: Final = "# Made by `make monitoring` out of ragbase_operator.builders.rules; do not edit.\n"


def rendered() -> dict[str, str]:
    """Path below `FOLDER` and text of each file."""
    boards = {f"dashboards/{board.uid}.json": board.render() for board in BOARDS}
    return {
        **boards,
        STACK_RULES: _yaml(stack_groups(EVERYWHERE)),
        OPERATOR_RULES: _yaml(operator_groups()),
    }


def stale() -> list[str]:
    """Files that differ from what would be made, are missing, or should not be there."""
    wanted = rendered()
    found = {
        str(path.relative_to(FOLDER)): path.read_text()
        for folder in ("dashboards", "rules", "prometheus")
        for path in (FOLDER / folder).glob("*")
    }
    return sorted(
        name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name)
    )


def _yaml(groups: list[dict[str, Any]]) -> str:
    text: str = yaml.safe_dump(
        {"groups": groups}, sort_keys=False, width=10_000, allow_unicode=True
    )
    return _HEAD + text
