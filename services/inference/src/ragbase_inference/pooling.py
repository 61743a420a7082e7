"""From the hidden states of a text's tokens to its one vector."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ragbase_inference.config import Pooling

__all__ = ["pool", "unit_rows"]


def pool(
    hidden: NDArray[np.float32], mask: NDArray[np.int64], pooling: Pooling
) -> NDArray[np.float32]:
    """Pool (rows, tokens, width) to (rows, width); padding (mask 0, on the right) has no part.

    Source of the kinds and their names: Reimers and Gurevych, Sentence-BERT, EMNLP 2019, and its
    library's ``Pooling`` module.
    """
    pooled: NDArray[np.float32]
    if pooling == "cls":
        pooled = hidden[:, 0]
    elif pooling == "lasttoken":
        pooled = hidden[np.arange(len(hidden)), mask.sum(axis=1) - 1]
    elif pooling == "max":
        pooled = np.where(mask[..., None] == 1, hidden, np.float32(-np.inf)).max(axis=1)
    else:
        pooled = _weighted(hidden, mask.astype(np.float32), pooling)
    return pooled


def _weighted(
    hidden: NDArray[np.float32], weights: NDArray[np.float32], pooling: Pooling
) -> NDArray[np.float32]:
    if pooling == "weightedmean":
        weights = weights * np.arange(1, weights.shape[1] + 1, dtype=np.float32)
    total = np.matmul(weights[:, None, :], hidden)[:, 0]
    size = weights.sum(axis=1, keepdims=True)
    pooled: NDArray[np.float32] = total / (
        np.sqrt(size) if pooling == "mean_sqrt_len_tokens" else size
    )
    return pooled


def unit_rows(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows divided by their Euclidean norm; a zero row stays zero."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.ascontiguousarray(vectors / np.maximum(norms, 1e-12), dtype=np.float32)
