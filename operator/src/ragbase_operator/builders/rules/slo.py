"""Recording rules and alerts of the service level objectives.

Alerts look at two windows (Site Reliability Workbook, chapter 5, "Multiwindow, Multi-Burn-Rate
Alerts"): the long one says that it matters, the short one that it goes on.
"""

from __future__ import annotations

from typing import Final

from ragbase_operator.builders.rules.objectives import ANSWERED, SEARCH_TARGETS, WITHIN_TARGET
from ragbase_operator.builders.rules.rule import Alert, Group, Record

__all__ = ["SLO_ALERTS", "SLO_RECORDS"]

_BY: Final = "namespace, ragbase"
_REQUESTS: Final = 'ragbase_http_requests_total{$scope,route!~"(localrag:)?/(health.*|metrics)"}'
"""Probes say 503 while a pod starts; that hurts nobody."""
_FAILED: Final = (
    'ragbase_http_requests_total{$scope,route!~"(localrag:)?/(health.*|metrics)",status=~"5.."}'
)
_BUDGET: Final = 1 - ANSWERED
_FAST: Final = 14.4
"""Of a month's budget, 2 % in an hour."""
_SLOW: Final = 6.0
"""Of a month's budget, 5 % in six hours."""
_PLACE: Final = "{{ $labels.namespace }}/{{ $labels.ragbase }}"


def _errors(window: str) -> Record:
    requests = f"sum by ({_BY}) (rate({_REQUESTS}[{window}]))"
    failed = f"sum by ({_BY}) (rate({_FAILED}[{window}]))"
    return Record(
        f"ragbase:http_errors:ratio_rate{window}",
        f"({failed} or 0 * {requests}) / ({requests} > 0)",
    )


def _within_target(window: str) -> Record:
    modes = (_within(mode, seconds, window) for mode, seconds in SEARCH_TARGETS.items())
    return Record(f"ragbase:search_within_target:ratio_rate{window}", " or ".join(modes))


def _within(mode: str, seconds: float, window: str) -> str:
    within = f'ragbase_search_seconds_bucket{{$scope,mode="{mode}",le="{seconds}"}}'
    whole = f'ragbase_search_seconds_count{{$scope,mode="{mode}"}}'
    return (
        f"sum by ({_BY}, mode) (rate({within}[{window}]))"
        f" / (sum by ({_BY}, mode) (rate({whole}[{window}])) > 0)"
    )


def _quantile(quantile: int) -> Record:
    return Record(
        f"ragbase:search_seconds:p{quantile}_5m",
        f"histogram_quantile(0.{quantile}, "
        f"sum by ({_BY}, mode, le) (rate(ragbase_search_seconds_bucket{{$scope}}[5m])))",
    )


SLO_RECORDS: Final = Group(
    "ragbase-slo-records",
    (
        Record("ragbase:http_requests:rate5m", f"sum by ({_BY}) (rate({_REQUESTS}[5m]))"),
        *(_errors(window) for window in ("5m", "30m", "1h", "6h")),
        *(_within_target(window) for window in ("5m", "1h")),
        *(_quantile(each) for each in (50, 95, 99)),
    ),
)


def _burns(long: str, short: str, rate: float) -> str:
    over = f"> {rate * _BUDGET:.3f}"
    return (
        f"ragbase:http_errors:ratio_rate{long}{{$scope}} {over}"
        f" and ragbase:http_errors:ratio_rate{short}{{$scope}} {over}"
    )


SLO_ALERTS: Final = Group(
    "ragbase-slo",
    (
        Alert(
            "RagBaseErrorBudgetBurnFast",
            "critical",
            "2m",
            _burns("1h", "5m", _FAST),
            f"{_PLACE}: many requests fail.",
            "{{ $value | humanizePercentage }} of the requests of the last hour were answered 5xx; "
            f"the objective is {ANSWERED:.1%} without. Look at the log of the API.",
        ),
        Alert(
            "RagBaseErrorBudgetBurnSlow",
            "warning",
            "15m",
            _burns("6h", "30m", _SLOW),
            f"{_PLACE}: requests go on failing.",
            "{{ $value | humanizePercentage }} of the requests of the last six hours were answered "
            f"5xx; the objective is {ANSWERED:.1%} without.",
        ),
        Alert(
            "RagBaseSearchSlow",
            "warning",
            "10m",
            f"ragbase:search_within_target:ratio_rate1h{{$scope}} < {WITHIN_TARGET}"
            f" and ragbase:search_within_target:ratio_rate5m{{$scope}} < {WITHIN_TARGET}",
            f"{_PLACE}: {{{{ $labels.mode }}}} searches are slow.",
            "Only {{ $value | humanizePercentage }} of the {{ $labels.mode }} searches of the last "
            f"hour were within their target; the objective is {WITHIN_TARGET:.0%}. The dashboard "
            "of searches shows which stage takes the time.",
        ),
    ),
)
