"""Quantiles of call times."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragbase.evaluation.latency import Latency, quantile

times = st.lists(st.floats(min_value=0, max_value=1e6), min_size=1, max_size=60)


@given(times, st.floats(min_value=0, max_value=1))
def test_quantile_is_numpys(values: list[float], share: float) -> None:
    ordered = sorted(values)
    assert quantile(ordered, share) == pytest.approx(float(np.quantile(ordered, share)))


def test_summary_of_a_hundred_calls() -> None:
    latency = Latency.of([float(value) for value in range(101)])
    assert latency == Latency(calls=101, mean=50.0, p50=50.0, p95=95.0, p99=99.0)


def test_no_call_is_no_error() -> None:
    assert Latency.of([]) == Latency(0, 0.0, 0.0, 0.0, 0.0)
