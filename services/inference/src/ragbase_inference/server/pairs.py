"""From pairs of texts to logits: permits, tokens, batches."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragbase_inference.kinds import PairModel, Side
from ragbase_inference.server.call import Call
from ragbase_inference.server.compute import Compute
from ragbase_inference.server.errors import empty_error
from ragbase_inference.serving.running import RunningModel
from ragbase_inference.tokens import Encoded

__all__ = ["Pair", "best_first", "pair_logits"]

Pair = tuple[str, str | None]


async def pair_logits(
    call: Call, running: RunningModel, model: PairModel, pairs: Sequence[Pair], cut: Side | None
) -> tuple[NDArray[np.float32], Compute]:
    """Logits (pairs, labels) and what they cost; their permits are held by the caller."""
    call.metrics.admitted("predict", len(pairs))
    characters = sum(len(first) + len(second or "") for first, second in pairs)
    started = perf_counter()
    encoded = await running.tokenize(characters, lambda: _encode(model, pairs, cut))
    tokenization_s = perf_counter() - started
    outcome = await running.run("logits", encoded)
    compute = Compute.of(
        outcome, running.facts, characters=characters, tokenization_s=tokenization_s
    )
    call.metrics.came_through("predict", compute)
    return np.stack(outcome.results), compute


def _encode(model: PairModel, pairs: Sequence[Pair], cut: Side | None) -> list[Encoded]:
    if not all(first or second for first, second in pairs):
        raise empty_error("inputs", "tokenization", prefix="Input validation error: ")
    return model.encode_pairs(pairs, cut=cut)


def best_first(scores: NDArray[np.floating[Any]]) -> list[int]:
    """Indices by score, the highest first; of equal ones the lower index."""
    return [int(index) for index in np.argsort(-scores, kind="stable")]
