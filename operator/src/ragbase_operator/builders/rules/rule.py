"""Alerting and recording rules, and how they are written for Prometheus.

Expressions name the series that they are about by `$scope`: those of one RagBase, or of all. What
they give is always told apart by `namespace` and `ragbase`, so one text serves both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

__all__ = ["EVERYWHERE", "RUNBOOKS", "Alert", "Group", "Record", "Scope", "scope_of"]

RUNBOOKS: Final = "https://github.com/ragbase/ragbase/blob/main/docs/runbooks"
"""Where the page of an alert is, by its name."""

Scope = str
"""Matchers of a series selector, without braces."""

EVERYWHERE: Final[Scope] = 'ragbase!=""'
"""The series of all RagBases, and of nothing else."""


def scope_of(namespace: str, ragbase: str) -> Scope:
    """The series of one RagBase. Names of Kubernetes need no escapes."""
    return f'namespace="{namespace}",ragbase="{ragbase}"'


@dataclass(frozen=True, slots=True)
class Alert:
    """Something that a person must know of."""

    name: str
    severity: Literal["critical", "warning", "info"]
    """critical: users are hurt now. warning: they will be, or some of them are. info: good to know."""
    held: str
    """How long it must be so, as Prometheus writes durations."""
    expression: str
    summary: str
    """One line; begins with what it is about."""
    description: str
    """What users see, with the value, and the first thing to do."""

    def render(self, scope: Scope) -> dict[str, Any]:
        """As a rule of a rule file, or of a PrometheusRule."""
        return {
            "alert": self.name,
            "expr": self.expression.replace("$scope", scope),
            "for": self.held,
            "labels": {"severity": self.severity},
            "annotations": {
                "summary": self.summary,
                "description": self.description,
                "runbook_url": f"{RUNBOOKS}/{self.name}.md",
            },
        }


@dataclass(frozen=True, slots=True)
class Record:
    """A series that Prometheus computes; named level:metric:operations."""

    name: str
    expression: str

    def render(self, scope: Scope) -> dict[str, Any]:
        """As a rule of a rule file, or of a PrometheusRule."""
        return {"record": self.name, "expr": self.expression.replace("$scope", scope)}


@dataclass(frozen=True, slots=True)
class Group:
    """Rules that are evaluated together, one after the other."""

    name: str
    rules: Sequence[Alert | Record]

    def render(self, scope: Scope) -> dict[str, Any]:
        """As a group of a rule file, or of a PrometheusRule."""
        return {"name": self.name, "rules": [rule.render(scope) for rule in self.rules]}
