"""From logits to scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["sigmoid"]


def sigmoid(logits: ArrayLike) -> NDArray[np.float64]:
    """``1 / (1 + exp(-x))``, which overflows nowhere; in double precision, so that few scores tie."""
    x = np.asarray(logits, np.float64)
    scores: NDArray[np.float64] = np.exp(-np.logaddexp(0.0, -x))
    return scores
