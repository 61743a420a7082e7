"""PromQL that the dashboards share. Expressions are about the RagBase that is chosen above."""

from __future__ import annotations

from typing import Final

__all__ = ["RATE", "THIS", "mean", "per_second", "quantile", "share"]

THIS: Final = 'namespace="$namespace",ragbase="$ragbase"'
"""Matchers of the chosen RagBase."""

RATE: Final = "$__rate_interval"
"""Grafana's: long enough for a rate at the interval of scrapes, and at least a point of the graph."""


def per_second(counter: str, by: str = "", matchers: str = THIS) -> str:
    """The rate of a counter, summed over pods; told apart by the labels ``by``."""
    return f"{_sum(by)}(rate({counter}{{{matchers}}}[{RATE}]))"


def quantile(share_below: float, histogram: str, by: str = "", matchers: str = THIS) -> str:
    """A quantile of a histogram of all pods."""
    labels = f"le, {by}" if by else "le"
    buckets = f"sum by ({labels}) (rate({histogram}_bucket{{{matchers}}}[{RATE}]))"
    return f"histogram_quantile({share_below:g}, {buckets})"


def mean(histogram: str, by: str = "", matchers: str = THIS) -> str:
    """The mean of a histogram of all pods; nothing where there was nothing."""
    total = per_second(f"{histogram}_sum", by, matchers)
    return f"{total} / ({per_second(f'{histogram}_count', by, matchers)} > 0)"


def share(part: str, whole: str) -> str:
    """``part`` of ``whole``; 0 where the part has no series yet, nothing where the whole is 0."""
    return f"({part} or 0 * {whole}) / ({whole} > 0)"


def _sum(by: str) -> str:
    return f"sum by ({by}) " if by else "sum"
