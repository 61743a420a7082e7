"""Alerts on the metrics of API and workers."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from ragbase_operator.builders.components import API, WORKER
from ragbase_operator.builders.names import child
from ragbase_operator.models.objects import RagBase

__all__ = ["alerts"]


class _Alert(NamedTuple):
    name: str
    severity: str
    held: str
    expression: str
    summary: str


_ALERTS: Final = (
    _Alert(
        "RagBaseDependencyDown",
        "warning",
        "5m",
        "min by (dependency) (ragbase_dependency_up{%s}) == 0",
        "{{ $labels.dependency }} does not answer; searches go on without it.",
    ),
    _Alert(
        "RagBaseErrors",
        "critical",
        "5m",
        'sum(rate(ragbase_http_requests_total{%s,status=~"5.."}[5m])) '
        "/ sum(rate(ragbase_http_requests_total{%s}[5m])) > 0.05",
        "More than 5 % of the requests fail.",
    ),
    _Alert(
        "RagBaseShedding",
        "warning",
        "10m",
        "sum(rate(ragbase_http_shed_total{%s}[5m])) > 0",
        "Requests are answered 429: add replicas of the API.",
    ),
    _Alert(
        "RagBaseDegraded",
        "warning",
        "15m",
        "sum by (reason) (rate(ragbase_degraded_total{%s}[5m])) > 0",
        "Answers are degraded: {{ $labels.reason }}.",
    ),
    _Alert(
        "RagBaseJobsWaiting",
        "warning",
        "15m",
        "max by (kind) (ragbase_job_oldest_seconds{%s}) > 3600",
        "The oldest job of kind {{ $labels.kind }} has waited for an hour: add workers.",
    ),
)


def alerts(ragbase: RagBase) -> list[dict[str, Any]]:
    """Rules of a PrometheusRule, for this RagBase's pods only."""
    return [_rule(ragbase, alert) for alert in _ALERTS]


def _rule(ragbase: RagBase, alert: _Alert) -> dict[str, Any]:
    names = "|".join(child(ragbase.name, component) for component in (API, WORKER))
    pods = f'namespace="{ragbase.namespace}",pod=~"({names})-.*"'
    return {
        "alert": alert.name,
        "expr": alert.expression.replace("%s", pods),
        "for": alert.held,
        "labels": {"severity": alert.severity, "ragbase": ragbase.name},
        "annotations": {"summary": f"{ragbase.namespace}/{ragbase.name}: {alert.summary}"},
    }
