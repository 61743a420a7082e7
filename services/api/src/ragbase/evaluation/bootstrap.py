"""How far a difference between two modes may be chance: the paired bootstrap.

Queries are drawn with replacement, each with its scores in both modes; the interval holds the middle
95 % of the mean differences so drawn. Source: Sakai, Evaluating Evaluation Metrics based on the
Bootstrap, SIGIR 2006.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from ragbase.evaluation.measures import Scores

__all__ = ["DRAWS", "Difference", "paired_difference"]

DRAWS: Final = 10_000
_SEED: Final = 20_240_531


@dataclass(frozen=True, slots=True)
class Difference:
    """Mean of "this mode minus that one" over queries, and its 95 % interval."""

    mean: float
    low: float
    high: float


def paired_difference(
    one: Mapping[str, Scores], other: Mapping[str, Scores], queries: Sequence[str], measure: str
) -> Difference:
    """``one`` minus ``other``, of these queries; the same interval at every call."""
    if not queries:
        return Difference(0.0, 0.0, 0.0)
    gains = np.array([one[query][measure] - other[query][measure] for query in queries])
    draws = np.random.default_rng(_SEED).integers(0, gains.size, (DRAWS, gains.size))
    low, high = np.quantile(gains[draws].mean(axis=1), [0.025, 0.975])
    return Difference(float(gains.mean()), float(low), float(high))
