"""Paired bootstrap intervals."""

from __future__ import annotations

import pytest

from ragbase.evaluation.bootstrap import Difference, paired_difference
from ragbase.evaluation.measures import Scores


def scores(*values: float) -> dict[str, Scores]:
    return {str(number): {"nDCG@10": value} for number, value in enumerate(values)}


def difference(one: dict[str, Scores], other: dict[str, Scores]) -> Difference:
    return paired_difference(one, other, list(one), "nDCG@10")


def test_a_gain_of_every_query_is_certain() -> None:
    found = difference(scores(0.5, 0.75, 1.0), scores(0.25, 0.5, 0.75))
    assert (found.mean, found.low, found.high) == pytest.approx((0.25, 0.25, 0.25))


def test_what_helps_one_query_and_harms_another_is_uncertain() -> None:
    found = difference(scores(*[0.0, 1.0] * 20), scores(*[1.0, 0.0] * 20))
    assert found.low < found.mean == 0.0 < found.high
    assert found.high == pytest.approx(0.31, abs=0.03)  # 1.96 / sqrt(40)


def test_it_is_the_same_at_every_call() -> None:
    one, other = scores(0.1, 0.9, 0.4, 0.3), scores(0.2, 0.5, 0.4, 0.1)
    assert difference(one, other) == difference(one, other)


def test_no_query_no_difference() -> None:
    assert paired_difference({}, {}, [], "nDCG@10") == Difference(0.0, 0.0, 0.0)
