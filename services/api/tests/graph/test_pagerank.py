"""The walk: against an exact solution, and what every ranking relies on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragbase.graph.pagerank import DAMPING, Floats, MentionGraph, chunk_scores, specificity


def dense(matrix: np.ndarray, restart: Floats, degree: Floats, telling: Floats) -> Floats:
    """The fixed point, by solving ``(I − d Pᵀ Q) x = (1 − d) p``; ``matrix`` is chunks × entities."""
    q = matrix / np.maximum(degree, 1.0)
    weighted = matrix * telling
    p = weighted / np.maximum(weighted.sum(axis=1, keepdims=True), 1e-300)
    start = restart / restart.sum()
    x = np.linalg.solve(np.eye(degree.size) - DAMPING * p.T @ q, (1.0 - DAMPING) * start)
    return q @ x


def graph_of(matrix: np.ndarray) -> MentionGraph:
    chunk, entity = np.nonzero(matrix)
    degree = matrix.sum(axis=0).astype(float)
    return MentionGraph(chunk, entity, matrix.shape[0], degree, specificity(degree, 500))


@st.composite
def matrices(draw: st.DrawFn) -> np.ndarray:
    chunks, entities = draw(st.integers(1, 12)), draw(st.integers(1, 12))
    cells = draw(st.lists(st.booleans(), min_size=chunks * entities, max_size=chunks * entities))
    return np.array(cells, dtype=float).reshape(chunks, entities)


@given(matrices(), st.data())
def test_it_is_the_fixed_point_of_the_definition(matrix: np.ndarray, data: st.DataObject) -> None:
    graph = graph_of(matrix)
    weights = st.lists(
        st.sampled_from([0.0, 0.5, 1.0]), min_size=matrix.shape[1], max_size=matrix.shape[1]
    )
    restart = np.array(data.draw(weights))
    scores = chunk_scores(graph, restart)
    if restart.sum() == 0.0 or not matrix.any():
        assert not scores.any()
    else:
        assert scores == pytest.approx(
            dense(matrix, restart, graph.degree, graph.telling), abs=2**-14
        )


@given(matrices())
def test_equal_graphs_give_equal_bits(matrix: np.ndarray) -> None:
    graph = graph_of(matrix)
    restart = np.ones(matrix.shape[1])
    first, second = chunk_scores(graph, restart), chunk_scores(graph_of(matrix), restart)
    assert first.tobytes() == second.tobytes()


def test_a_chunk_that_names_both_entities_of_the_query_is_first() -> None:
    matrix = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
    scores = chunk_scores(graph_of(matrix), np.array([1.0, 1.0, 0.0]))
    assert scores.argmax() == 1
    assert scores[3] == 0.0


def test_what_leads_on_from_a_chunk_of_the_query_is_reached() -> None:
    """Two hops: a names b in chunk 0, b is told of in chunk 1; chunk 2 is elsewhere."""
    matrix = np.array([[1, 1, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
    scores = chunk_scores(graph_of(matrix), np.array([1.0, 0.0, 0.0]))
    assert scores[0] > scores[1] > scores[2] == 0.0


def test_rarer_entities_tell_more() -> None:
    weights = specificity(np.array([1.0, 10.0, 500.0, 501.0]), 500)
    assert list(weights) == sorted(weights, reverse=True)
    assert weights[-1] > 0.0
