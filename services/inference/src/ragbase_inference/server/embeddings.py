"""From the inputs of a request to vectors: prompts, tokens, permits, batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ragbase_inference.kinds import EmbeddingModel, Side
from ragbase_inference.pooling import unit_rows
from ragbase_inference.server.call import Call
from ragbase_inference.server.compute import Compute
from ragbase_inference.server.errors import ApiError, ErrorType, empty_error
from ragbase_inference.server.metrics import Method
from ragbase_inference.server.prompts import prompt_text
from ragbase_inference.server.requests import Input
from ragbase_inference.tokens import Encoded

__all__ = ["Preparation", "embed", "encode_inputs", "finished", "method_of"]

CHARS_PER_TOKEN = 250
"""TEI refuses longer inputs than so many times the model's limit where they may not be cut."""
_PREFIX = "Input validation error: "


@dataclass(frozen=True, slots=True)
class Preparation:
    """How inputs become tokens."""

    cut: Side | None
    """None refuses what is too long."""
    prompt_name: str | None = None


def method_of(inputs: object) -> Method:
    """How TEI's metrics call a request: of one input, or of a list of them."""
    lone = isinstance(inputs, str) or (
        isinstance(inputs, list) and bool(inputs) and isinstance(inputs[0], int)
    )
    return "single" if lone else "batch"


async def embed(
    call: Call,
    inputs: Sequence[Input],
    preparation: Preparation,
    *,
    task: Literal["embed", "embed_tokens"] = "embed",
    dimensions: int | None = None,
    method: Method = "batch",
    field: str = "inputs",
) -> tuple[list[NDArray[np.float32]], Compute]:
    """An array for each input, and what it cost; raises `ApiError` and the models' errors."""
    with call.admitted(len(inputs), field, method):
        running = await call.served.running()
        model = running.embedding()
        _check_dimensions(model, dimensions)
        call.metrics.admitted("embed", len(inputs))
        prompt = prompt_text(model, call.served.options, preparation.prompt_name)
        characters = sum(len(one) for one in inputs if isinstance(one, str))
        started = perf_counter()
        encoded = await running.tokenize(
            sum(map(len, inputs)), lambda: encode_inputs(model, inputs, preparation, prompt)
        )
        tokenization_s = perf_counter() - started
        outcome = await running.run(task, encoded)
        compute = Compute.of(
            outcome, running.facts, characters=characters, tokenization_s=tokenization_s
        )
        call.metrics.came_through("embed", compute)
        return outcome.results, compute


def _check_dimensions(model: EmbeddingModel, dimensions: int | None) -> None:
    if dimensions is None:
        return
    if dimensions == 0:
        text = "`dimensions` should be positive"
    elif dimensions > (model.facts.dimension or 0):
        text = "`dimensions` should be smaller than the maximum embedding dimension."
    else:
        return
    raise ApiError(ErrorType.VALIDATION, _PREFIX + text, "validation")


def encode_inputs(
    model: EmbeddingModel, inputs: Sequence[Input], preparation: Preparation, prompt: str
) -> list[Encoded]:
    """Tokens of each input; token ids are taken as they are, without prompt or special tokens."""
    if not all(inputs):
        raise empty_error("inputs", "tokenization", prefix=_PREFIX)
    texts = [one for one in inputs if isinstance(one, str)]
    if preparation.cut is None:
        _check_characters(model, texts)
    encoded = iter(model.encode([prompt + text for text in texts], cut=preparation.cut))
    return [
        next(encoded) if isinstance(one, str) else _given_ids(model, one, preparation.cut)
        for one in inputs
    ]


def _check_characters(model: EmbeddingModel, texts: Sequence[str]) -> None:
    most = CHARS_PER_TOKEN * model.facts.max_tokens
    for text in texts:
        if len(text) > most:
            raise ApiError(
                ErrorType.VALIDATION,
                f"{_PREFIX}`inputs` must have less than {most} characters. Given: {len(text)}",
                "tokenization",
            )


def _given_ids(model: EmbeddingModel, ids: list[int], cut: Side | None) -> Encoded:
    limit, vocabulary = model.facts.max_tokens, model.tokenizer.vocabulary
    if max(ids) >= vocabulary:
        raise ApiError(
            ErrorType.VALIDATION,
            f"{_PREFIX}there is no token {max(ids)}: the model's ids are below {vocabulary}",
            "tokenization",
        )
    if len(ids) <= limit:
        return Encoded(ids)
    if cut is None:
        raise ApiError(
            ErrorType.VALIDATION,
            f"{_PREFIX}`inputs` must have less than {limit} tokens. Given: {len(ids)}",
            "tokenization",
        )
    return Encoded(ids[:limit] if cut == "right" else ids[-limit:], cut=True)


def finished(
    rows: Sequence[NDArray[np.float32]], *, dimensions: int | None, normalize: bool
) -> NDArray[np.float32]:
    """One matrix of the rows: their leading numbers, at length one if wanted."""
    matrix = np.stack(rows)
    if dimensions is not None:
        matrix = np.ascontiguousarray(matrix[:, :dimensions])
    return unit_rows(matrix) if normalize else matrix
