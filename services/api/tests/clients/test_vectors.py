"""Checked vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragbase.clients.vectors import UnusableAnswerError, unit_rows

NUMBERS = st.floats(-1e30, 1e30) | st.integers(-(10**9), 10**9)
JSON = st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=3)


@given(st.lists(st.lists(NUMBERS, min_size=3, max_size=3), max_size=5))
def test_rows_are_unit_vectors_in_the_same_direction(raw: list[list[float]]) -> None:
    exact = np.array(raw, dtype=np.float64).reshape(len(raw), 3)
    norms = np.linalg.norm(exact, axis=1)
    if (norms == 0).any():
        with pytest.raises(UnusableAnswerError, match="zeros"):
            unit_rows(raw, rows=len(raw))
        return
    found = unit_rows(raw, rows=len(raw), dimension=3)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, exact / norms[:, None], atol=1e-6)


@given(
    st.recursive(
        JSON, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner)
    ),
    st.integers(0, 4),
)
def test_anything_that_is_json_is_either_unit_rows_or_refused(raw: Any, rows: int) -> None:
    """B065, B067: no other way out, and no warning from numpy."""
    try:
        found = unit_rows(raw, rows=rows, dimension=None)
    except UnusableAnswerError:
        return
    assert found.shape[0] == rows
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), np.ones(rows), atol=1e-5)


def test_the_refused_text_is_counted_from_the_callers_first() -> None:
    with pytest.raises(UnusableAnswerError, match="text 33"):
        unit_rows([[1.0, 0.0], [float("nan"), 0.0]], rows=2, first=32)


def test_float_arrays_pass_as_well() -> None:
    rows = [np.array([3.0, 4.0], dtype="<f4")]
    np.testing.assert_allclose(unit_rows(rows, rows=1), [[0.6, 0.8]], rtol=1e-6)
