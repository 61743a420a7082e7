"""From logits to scores."""

from __future__ import annotations

import numpy as np
import pytest

from ragbase_inference.scores import sigmoid


@pytest.mark.parametrize(
    ("logit", "score"), [(0.0, 0.5), (2.0, 0.880797), (-2.0, 0.119203), (1e4, 1.0), (-1e4, 0.0)]
)
def test_sigmoid(logit: float, score: float) -> None:
    assert sigmoid([logit])[0] == pytest.approx(score, abs=1e-6)


def test_high_logits_keep_their_order() -> None:
    scores = sigmoid(np.array([18.0, 20.0, 30.0], np.float32))
    assert scores[0] < scores[1] < scores[2] < 1
