"""``/rerank`` of text-embeddings-inference, and ``/v1/rerank`` as Jina's and Cohere's clients speak it."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from starlette.responses import Response

from ragbase_inference.kinds import Side
from ragbase_inference.scores import sigmoid
from ragbase_inference.server.body import parse_body
from ragbase_inference.server.call import Call
from ragbase_inference.server.compute import Compute
from ragbase_inference.server.pairs import best_first, pair_logits
from ragbase_inference.server.requests import RerankRequest, WireModel

__all__ = ["DocumentsRequest", "rerank", "rerank_documents"]


class Document(WireModel):
    """A document; other fields than its text are ignored."""

    text: str


class DocumentsRequest(WireModel):
    """Documents to be ranked for a query; ``model`` is ignored."""

    query: str
    documents: list[str | Document] = Field(description="Texts, or objects with a text.")
    model: str | None = None
    top_n: int | None = Field(None, ge=1, description="Answer with so many of the best.")
    return_documents: bool | None = None


async def rerank(call: Call, raw: bytes) -> Response:
    """Scores in 0…1 (or logits) of texts for a query, the best first."""
    body = parse_body(RerankRequest, raw)
    side: Side | None = body.truncation_direction if call.cut(body.truncate) else None
    logits, compute = await _score(call, body.query, body.texts, side, "texts")
    scores = logits if body.raw_scores else sigmoid(logits)
    answer = [
        {"index": index, "text": body.texts[index], "score": scores[index]}
        if body.return_text
        else {"index": index, "score": scores[index]}
        for index in best_first(scores)
    ]
    return call.answer(answer, compute)


async def rerank_documents(call: Call, raw: bytes) -> Response:
    """Relevance in 0…1 of documents for a query, the best first."""
    body = parse_body(DocumentsRequest, raw)
    texts = [one if isinstance(one, str) else one.text for one in body.documents]
    side: Side | None = "right" if call.cut(None) else None
    logits, compute = await _score(call, body.query, texts, side, "documents")
    scores = sigmoid(logits)
    results: list[dict[str, Any]] = []
    for index in best_first(scores)[: body.top_n]:
        results.append({"index": index, "relevance_score": scores[index]})
        if body.return_documents:
            results[-1]["document"] = {"text": texts[index]}
    answer = {
        "id": str(uuid.uuid4()),
        "object": "list",
        "model": call.served.spec.shown_name,
        "results": results,
        "usage": {"prompt_tokens": compute.tokens, "total_tokens": compute.tokens},
        "meta": {
            "api_version": {"version": "1"},
            "tokens": {"input_tokens": compute.tokens},
        },
    }
    return call.answer(answer, compute)


async def _score(
    call: Call, query: str, texts: Sequence[str], cut: Side | None, field: str
) -> tuple[NDArray[np.float32], Compute]:
    """One logit a text."""
    with call.admitted(len(texts), field):
        running = await call.served.running()
        pairs = [(query, text) for text in texts]
        logits, compute = await pair_logits(call, running, running.reranker(), pairs, cut)
        return logits[:, 0], compute
