"""Prometheus rules. One source: the operator applies those of a RagBase, the chart those of the
operator, and rule files for a Prometheus without its operator are made out of the same.
"""

from __future__ import annotations

from typing import Any

from ragbase_operator.builders.rules.objectives import (
    ANSWERED,
    SEARCH_TARGETS,
    STAGE_TARGETS,
    WITHIN_TARGET,
)
from ragbase_operator.builders.rules.operator import OPERATOR_ALERTS
from ragbase_operator.builders.rules.rule import EVERYWHERE, RUNBOOKS, Scope, scope_of
from ragbase_operator.builders.rules.slo import SLO_ALERTS, SLO_RECORDS
from ragbase_operator.builders.rules.stack import LLM_FAULTS, STACK_ALERTS

__all__ = [
    "ANSWERED",
    "EVERYWHERE",
    "LLM_FAULTS",
    "RUNBOOKS",
    "SEARCH_TARGETS",
    "STAGE_TARGETS",
    "WITHIN_TARGET",
    "operator_groups",
    "scope_of",
    "stack_groups",
]


def stack_groups(scope: Scope) -> list[dict[str, Any]]:
    """Groups of rules on the RagBases within ``scope``."""
    return [group.render(scope) for group in (SLO_RECORDS, SLO_ALERTS, STACK_ALERTS)]


def operator_groups() -> list[dict[str, Any]]:
    """Groups of rules on the operator, and on what only it sees."""
    return [OPERATOR_ALERTS.render(EVERYWHERE)]
