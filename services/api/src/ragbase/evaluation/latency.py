"""Quantiles of call times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Latency", "quantile"]


@dataclass(frozen=True, slots=True)
class Latency:
    """Call times in milliseconds; ``calls`` is how many they are of. All 0 for no call."""

    calls: int
    mean: float
    p50: float
    p95: float
    p99: float

    @classmethod
    def of(cls, milliseconds: Sequence[float]) -> Latency:
        """Summary of the times of successful calls."""
        if not milliseconds:
            return cls(0, 0.0, 0.0, 0.0, 0.0)
        ordered = sorted(milliseconds)
        return cls(
            calls=len(ordered),
            mean=sum(ordered) / len(ordered),
            p50=quantile(ordered, 0.50),
            p95=quantile(ordered, 0.95),
            p99=quantile(ordered, 0.99),
        )


def quantile(ordered: Sequence[float], share: float) -> float:
    """Linear interpolation between closest ranks of an ascending, non-empty sequence.

    Hyndman and Fan, The American Statistician 1996, type 7 (numpy's default).
    """
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
