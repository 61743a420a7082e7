"""Routes that embed: ``/embed``, ``/embed_all``, ``/embed_sparse``, ``/similarity``, ``/v1/embeddings``."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray
from starlette.responses import Response

from ragbase_inference.kinds import Side
from ragbase_inference.server.body import parse_body
from ragbase_inference.server.call import Call, json_bytes
from ragbase_inference.server.embeddings import Preparation, embed, finished, method_of
from ragbase_inference.server.errors import ApiError, ErrorType, empty_error
from ragbase_inference.server.requests import (
    EmbedAllRequest,
    EmbedRequest,
    EmbedSparseRequest,
    OpenAIEmbeddingsRequest,
    SimilarityParameters,
    SimilarityRequest,
    as_inputs,
)

__all__ = ["embed_all", "embed_pooled", "embed_sparse", "openai_embeddings", "similarity"]


async def embed_pooled(call: Call, raw: bytes) -> Response:
    """One vector an input; always a list of vectors."""
    body = parse_body(EmbedRequest, raw)
    method = method_of(body.inputs)
    rows, compute = await embed(
        call,
        as_inputs(body.inputs),
        _preparation(call, body),
        dimensions=body.dimensions,
        method=method,
    )
    vectors = finished(rows, dimensions=body.dimensions, normalize=body.normalize)
    return call.answer(vectors, compute, method)


async def embed_all(call: Call, raw: bytes) -> Response:
    """One vector a token of each input, special tokens included, not normalised."""
    body = parse_body(EmbedAllRequest, raw)
    method = method_of(body.inputs)
    rows, compute = await embed(
        call,
        as_inputs(body.inputs),
        _preparation(call, body),
        task="embed_tokens",
        method=method,
    )
    return call.answer(await _joined(rows), compute, method)


async def _joined(rows: Sequence[NDArray[np.float32]]) -> orjson.Fragment:
    """A JSON list of all, made one by one: an answer may have 35 MB, and others wait meanwhile."""
    parts: list[bytes] = []
    for row in rows:
        parts.append(json_bytes(row))
        await asyncio.sleep(0)
    return orjson.Fragment(b"[" + b",".join(parts) + b"]")


async def embed_sparse(call: Call, raw: bytes) -> Response:
    """Refused: no model here has SPLADE pooling."""
    body = parse_body(EmbedSparseRequest, raw)
    with call.admitted(len(as_inputs(body.inputs)), "inputs", method_of(body.inputs)):
        raise ApiError(
            ErrorType.BACKEND,
            "Backend error: Model is not an embedding model with SPLADE pooling",
            "model_type",
        )


async def similarity(call: Call, raw: bytes) -> Response:
    """Cosine of the source sentence with each other one."""
    body = parse_body(SimilarityRequest, raw)
    if not body.inputs.sentences:
        call.metrics.begun("batch")
        raise empty_error("inputs.sentences")
    sentences = [body.inputs.source_sentence, *body.inputs.sentences]
    parameters = body.parameters or SimilarityParameters()
    rows, compute = await embed(call, sentences, _preparation(call, parameters))
    vectors = finished(rows, dimensions=None, normalize=True)
    return call.answer(vectors[1:] @ vectors[0], compute)


async def openai_embeddings(call: Call, raw: bytes) -> Response:
    """OpenAI's form of `embed_pooled`; always normalised, cut as the server is set."""
    body = parse_body(OpenAIEmbeddingsRequest, raw)
    method = method_of(body.input)
    rows, compute = await embed(
        call,
        as_inputs(body.input),
        Preparation("right" if call.cut(None) else None),
        dimensions=body.dimensions,
        method=method,
    )
    vectors = finished(rows, dimensions=body.dimensions, normalize=True)
    answer = {
        "object": "list",
        "data": [
            {
                "object": "embedding",
                "embedding": _base64(row) if body.encoding_format == "base64" else row,
                "index": index,
            }
            for index, row in enumerate(vectors)
        ],
        "model": call.served.spec.shown_name,
        "usage": {"prompt_tokens": compute.tokens, "total_tokens": compute.tokens},
    }
    return call.answer(answer, compute, method)


def _preparation(call: Call, body: Any) -> Preparation:
    side: Side | None = body.truncation_direction if call.cut(body.truncate) else None
    return Preparation(side, body.prompt_name)


def _base64(row: NDArray[np.float32]) -> str:
    return base64.b64encode(row.astype("<f4").tobytes()).decode()
