"""Pooling against the definition, text by text."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from ragbase_inference.config import Pooling
from ragbase_inference.pooling import pool, unit_rows

Rows = NDArray[np.float32]

DEFINITIONS: dict[Pooling, Callable[[Rows], Rows]] = {
    "mean": lambda x: x.mean(0),
    "cls": lambda x: x[0],
    "max": lambda x: x.max(0),
    "lasttoken": lambda x: x[-1],
    "mean_sqrt_len_tokens": lambda x: x.sum(0) / np.sqrt(len(x)),
    "weightedmean": lambda x: np.average(x, axis=0, weights=np.arange(1, len(x) + 1)),
}


@pytest.mark.parametrize("pooling", DEFINITIONS)
def test_padding_has_no_part(pooling: Pooling) -> None:
    random = np.random.default_rng(0)
    texts = [random.normal(0, 1, (length, 8)).astype(np.float32) for length in (5, 1, 3)]
    hidden = np.full((3, 5, 8), 99, np.float32)
    mask = np.zeros((3, 5), np.int64)
    for row, text in enumerate(texts):
        hidden[row, : len(text)] = text
        mask[row, : len(text)] = 1
    want = np.stack([DEFINITIONS[pooling](text) for text in texts])
    got = pool(hidden, mask, pooling)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, want, atol=1e-6)


def test_unit_rows_have_length_one_and_zero_stays_zero() -> None:
    got = unit_rows(np.array([[3, 4], [0, 0], [1e-4, 0]], np.float32))
    want = np.array([[0.6, 0.8], [0, 0], [1, 0]], np.float32)
    np.testing.assert_allclose(got, want, atol=1e-6)
    assert got.flags.c_contiguous
