"""``/predict``: the labels of a text, or of a pair of texts, with their probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.responses import Response

from ragbase_inference.kinds import Side
from ragbase_inference.scores import sigmoid
from ragbase_inference.server.body import parse_body
from ragbase_inference.server.call import Call
from ragbase_inference.server.metrics import Method
from ragbase_inference.server.pairs import Pair, best_first, pair_logits
from ragbase_inference.server.requests import PredictRequest

__all__ = ["predict"]


async def predict(call: Call, raw: bytes) -> Response:
    """Labels by probability, the likeliest first; a list of such lists for a list of inputs."""
    body = parse_body(PredictRequest, raw)
    lone = isinstance(body.inputs, str) or (bool(body.inputs) and isinstance(body.inputs[0], str))
    method: Method = "single" if lone else "batch"
    pairs = [_pair(one) for one in ([body.inputs] if lone else body.inputs)]
    side: Side | None = body.truncation_direction if call.cut(body.truncate) else None
    with call.admitted(len(pairs), "inputs", method):
        running = await call.served.running()
        model = running.classifier()
        logits, compute = await pair_logits(call, running, model, pairs, side)
    scores = logits if body.raw_scores else _probabilities(logits)
    lists = [_named(row, model.facts.labels) for row in scores]
    return call.answer(lists[0] if lone else lists, compute, method)


def _pair(one: Any) -> Pair:
    if isinstance(one, str):
        return one, None
    first, *second = one
    return first, second[0] if second else None


def _probabilities(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    """Softmax over several labels, sigmoid of a lone one, as text-embeddings-inference does."""
    if logits.shape[1] == 1:
        return sigmoid(logits)
    wide = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
    shares: NDArray[np.float64] = wide / wide.sum(axis=1, keepdims=True)
    return shares


def _named(row: NDArray[np.float64], labels: tuple[str, ...]) -> list[dict[str, Any]]:
    return [{"score": row[index], "label": labels[index]} for index in best_first(row)]
