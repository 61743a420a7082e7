"""``/tokenize`` and ``/decode``: the model's own tokens. They take no permits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from starlette.responses import Response

from ragbase_inference.kinds import EmbeddingModel
from ragbase_inference.server.body import parse_body
from ragbase_inference.server.call import Call, json_bytes
from ragbase_inference.server.errors import ApiError, ErrorType, empty_error
from ragbase_inference.server.prompts import prompt_text
from ragbase_inference.server.requests import DecodeRequest, TokenizeRequest
from ragbase_inference.serving.running import RunningModel
from ragbase_inference.tokens import TextTokenizer

__all__ = ["decode", "tokenize"]

T = TypeVar("T")
_PREFIX = "Input validation error: "


async def tokenize(call: Call, raw: bytes) -> Response:
    """Tokens of each text; offsets are bytes of UTF-8."""
    body = parse_body(TokenizeRequest, raw)
    texts = [body.inputs] if isinstance(body.inputs, str) else body.inputs
    _check(call, texts, "inputs")

    def work(running: RunningModel) -> bytes:
        tokenizer = running.model.tokenizer
        prompt = _prompt(call, running, body.prompt_name)
        return _token_lists(tokenizer, [prompt + text for text in texts], body.add_special_tokens)

    return await _with_tokenizer(call, sum(map(len, texts)), work)


def _token_lists(tokenizer: TextTokenizer, texts: Sequence[str], special: bool) -> bytes:
    """One list after the other: each holds the interpreter for a moment only."""
    lists = (json_bytes(tokenizer.explain(text, special=special)) for text in texts)
    return b"[" + b",".join(lists) + b"]"


async def decode(call: Call, raw: bytes) -> Response:
    """Text of each list of token ids."""
    body = parse_body(DecodeRequest, raw)
    lists: list[list[int]] = []
    for one in body.ids:
        if isinstance(one, int):
            lists = [[number for number in body.ids if isinstance(number, int)]]
            break
        lists.append(one)
    _check(call, lists, "input_ids")

    def work(running: RunningModel) -> bytes:
        tokenizer = running.model.tokenizer
        try:
            texts = [tokenizer.decode(ids, skip_special=body.skip_special_tokens) for ids in lists]
        except ValueError as error:
            raise ApiError(ErrorType.VALIDATION, f"{_PREFIX}{error}", "tokenization") from None
        return json_bytes(texts)

    return await _with_tokenizer(call, sum(map(len, lists)), work)


def _check(call: Call, inputs: Sequence[str] | Sequence[list[int]], field: str) -> None:
    if not inputs or not all(inputs):
        raise empty_error(field, "tokenization", prefix=_PREFIX)
    call.check_batch(len(inputs))


def _prompt(call: Call, running: RunningModel, wanted: str | None) -> str:
    if running.facts.kind == "embedding":
        model: EmbeddingModel = running.embedding()
        return prompt_text(model, call.served.options, wanted)
    return ""


async def _with_tokenizer(call: Call, size: int, work: Callable[[RunningModel], bytes]) -> Response:
    with call.served.in_use():
        running = await call.served.running()
        # An answer is some twenty times its text: making it counts, not only the tokens.
        content = await running.tokenize(20 * size, lambda: work(running))
        return Response(content, media_type="application/json")
