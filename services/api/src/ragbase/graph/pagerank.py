"""Personalised PageRank over a graph of two kinds of nodes, chunks and entities.

An entity spreads its weight evenly over the chunks that name it; a chunk spreads its over the
entities that it names, by how telling each is. With x the weights of the entities, p those of the
query, ``x ← (1 − d) p + d Pᵀ Q x``; a chunk's score is what reaches it in the end, ``Q x``.

Sources: Haveliwala: Topic-Sensitive PageRank, WWW 2002. Gutiérrez et al.: HippoRAG, NeurIPS 2024
(arXiv 2405.14831), and 2502.14802: the same walk over a graph that a language model built.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["DAMPING", "ITERATIONS", "MentionGraph", "chunk_scores", "specificity"]

DAMPING: Final = 0.5
ITERATIONS: Final = 15
"""What is still to come is below 2⁻¹⁵ of the whole."""

Floats = NDArray[np.float64]
Indexes = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class MentionGraph:
    """Rows "chunk c names entity e" as index pairs, ordered by chunk, then entity; m rows.

    ``chunk``, ``entity``: shape (m,), indexes from 0. ``degree``, ``telling``: one an entity; the
    number of chunks that name it, also those that are not among the rows (the weight that goes
    there is lost), and its weight when a chunk spreads its own (see `specificity`).
    """

    chunk: Indexes
    entity: Indexes
    chunks: int
    degree: Floats
    telling: Floats


def specificity(degree: Floats, common: int) -> Floats:
    """How telling entities are: ``ln(1 + common / degree)``; ``common`` is the degree at which one
    tells next to nothing. An inverse document frequency that needs no count of all chunks."""
    weights: Floats = np.log1p(common / np.maximum(degree, 1.0))
    return weights


def chunk_scores(
    graph: MentionGraph,
    restart: Floats,
    *,
    damping: float = DAMPING,
    iterations: int = ITERATIONS,
) -> Floats:
    """Score of each chunk, shape (chunks,), in 0…1; ``restart`` is p, shape (entities,).

    Sums run in the order of the rows, so equal graphs give equal bits.
    """
    total = restart.sum()
    if total <= 0.0 or not graph.chunk.size:
        return np.zeros(graph.chunks)
    start = restart / total
    outgoing = np.bincount(graph.chunk, weights=graph.telling[graph.entity], minlength=graph.chunks)
    down = 1.0 / np.maximum(graph.degree, 1.0)[graph.entity]
    up = graph.telling[graph.entity] / np.maximum(outgoing, 1e-300)[graph.chunk]
    x = start
    for _ in range(iterations):
        returned = _summed(graph.entity, _spread(graph, x, down)[graph.chunk] * up, start.size)
        x = (1.0 - damping) * start + damping * returned
    return _spread(graph, x, down)


def _spread(graph: MentionGraph, x: Floats, down: Floats) -> Floats:
    """Q x: what the entities' weights give to the chunks."""
    return _summed(graph.chunk, x[graph.entity] * down, graph.chunks)


def _summed(index: Indexes, values: Floats, size: int) -> Floats:
    return np.bincount(index, weights=values, minlength=size).astype(np.float64, copy=False)
