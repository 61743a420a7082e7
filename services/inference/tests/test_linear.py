"""8-bit products: no row depends on another, no CPU computes other integers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray

from ragbase_inference.config import Precision
from ragbase_inference.graph import GraphWriter
from ragbase_inference.linear import linear

Matrix = NDArray[np.float32]
WIDTH = 64


def products(folder: Path, precision: Precision, x: Matrix, weight: Matrix) -> Matrix:
    """``x @ weight.T`` as the graph computes it."""
    graph = GraphWriter()
    maths = linear(precision, graph)
    # The writer's inputs are token ids: look the rows of x up by them.
    rows = graph.node("Gather", graph.weight("x", x), "input_ids")
    flat = graph.node("Reshape", rows, graph.weight("flat", np.array([-1, x.shape[1]])))
    product = maths.product(maths.prepare(flat), "w", weight)
    shape = graph.weight("shape", np.array([1, -1, len(weight)]))
    graph.bind("Reshape", product, shape, output="y")
    graph.save(
        folder,
        inputs=("input_ids", "attention_mask"),
        output="y",
        shape=("batch", "tokens", len(weight)),
    )
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"))
    ids = np.arange(len(x))[None]
    (y,) = session.run(["y"], {"input_ids": ids, "attention_mask": np.ones_like(ids)})
    return np.asarray(y[0])


@pytest.fixture
def weight() -> Matrix:
    return np.random.default_rng(1).normal(0, 1, (48, WIDTH)).astype(np.float32)


def test_a_row_does_not_depend_on_the_rows_beside_it(tmp_path: Path, weight: Matrix) -> None:
    x = np.random.default_rng(2).normal(0, 1, (5, WIDTH)).astype(np.float32)
    loud = np.vstack([x, np.full((1, WIDTH), 1e4, np.float32)])
    for name in ("quiet", "loud"):
        (tmp_path / name).mkdir()
    quiet = products(tmp_path / "quiet", "int8", x, weight)
    np.testing.assert_array_equal(products(tmp_path / "loud", "int8", loud, weight)[:5], quiet)


def test_extreme_values_do_not_saturate(tmp_path: Path) -> None:
    """All activations and weights at their extremes: 16-bit sums of pairs would overflow."""
    x = np.full((2, WIDTH), 3.0, np.float32)
    x[1] *= -1
    ones = np.ones((4, WIDTH), np.float32)
    got = products(tmp_path, "int8", x, ones)
    np.testing.assert_allclose(got, x @ ones.T, rtol=1e-5)


def test_the_error_is_that_of_rounding(tmp_path: Path, weight: Matrix) -> None:
    x = np.random.default_rng(3).normal(0, 1, (50, WIDTH)).astype(np.float32)
    exact = x @ weight.T
    error = products(tmp_path, "int8", x, weight) - exact
    assert np.abs(error).mean() < 0.02 * np.abs(exact).mean()


def test_a_row_of_zeros_gives_zeros(tmp_path: Path, weight: Matrix) -> None:
    x = np.zeros((1, WIDTH), np.float32)
    assert not products(tmp_path, "int8", x, weight).any()


def test_fp32_is_the_plain_product(tmp_path: Path, weight: Matrix) -> None:
    x = np.random.default_rng(4).normal(0, 1, (3, WIDTH)).astype(np.float32)
    np.testing.assert_allclose(products(tmp_path, "fp32", x, weight), x @ weight.T, atol=1e-4)
