"""Request bodies: bounded while they are read, then parsed into a model of the request.

Refusals are plain text and worded as axum and serde do in text-embeddings-inference.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from ragbase_inference.server.errors import RejectedError

__all__ = ["parse_body", "read_body"]

M = TypeVar("M", bound=BaseModel)

_UNREADABLE = "Failed to parse the request body as JSON: "
_UNFIT = "Failed to deserialize the JSON body into the target type: "


async def read_body(request: Request, *, limit: int, within_s: float) -> bytes:
    """The body of a JSON request: at most ``limit`` bytes, there in time.

    Raises `RejectedError` (415, 413, 408), or starlette's `ClientDisconnect`.
    """
    if not _is_json(request.headers.get("content-type", "")):
        raise RejectedError(
            415, "Expected request with `Content-Type: application/json`", unread=True
        )
    announced = request.headers.get("content-length", "")
    if announced.isdigit() and int(announced) > limit:
        raise _too_large()
    chunks: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(within_s):
            async for chunk in request.stream():
                size += len(chunk)
                if size > limit:
                    raise _too_large()
                chunks.append(chunk)
    except TimeoutError:
        raise RejectedError(408, "The request body did not arrive in time", unread=True) from None
    return b"".join(chunks)


def _too_large() -> RejectedError:
    return RejectedError(
        413, "Failed to buffer the request body: length limit exceeded", unread=True
    )


def _is_json(content_type: str) -> bool:
    kind, _, subtype = content_type.partition(";")[0].strip().lower().partition("/")
    return kind == "application" and (subtype == "json" or subtype.endswith("+json"))


def parse_body(model: type[M], raw: bytes) -> M:
    """Raises `RejectedError`: 400 for what is no JSON, 422 for another shape than ``model``'s."""
    try:
        parsed = model.model_validate_json(raw)
    except ValidationError as error:
        raise _refusal(error) from None
    _refuse_duplicates(model, raw)
    return parsed


def _refusal(error: ValidationError) -> RejectedError:
    """Of a union each member has complained; the last one is the most general."""
    first, *_ = complaints = error.errors(include_url=False, include_input=False)
    if first["type"] == "json_invalid":
        return RejectedError(400, _UNREADABLE + str(first["ctx"]["error"]))
    if not first["loc"]:
        return RejectedError(422, f"{_UNFIT}invalid type: expected an object")
    field = str(first["loc"][0])
    if first["type"] == "missing" and len(first["loc"]) == 1:
        return RejectedError(422, f"{_UNFIT}missing field `{field}`")
    of_field = [one for one in complaints if one["loc"][0] == field]
    return RejectedError(422, f"{_UNFIT}{field}: {of_field[-1]['msg']}")


def _refuse_duplicates(model: type[BaseModel], raw: bytes) -> None:
    """A field given twice could mean either value; the cheap look finds nearly all bodies clean."""
    if all(raw.count(f'"{name}"'.encode()) < 2 for name in model.model_fields):
        return
    pairs: list[tuple[str, Any]] = json.loads(
        raw, object_pairs_hook=lambda found: found, parse_int=str
    )
    times = Counter(name for name, _ in pairs)
    for name in model.model_fields:
        if times[name] > 1:
            raise RejectedError(422, f"{_UNFIT}duplicate field `{name}`")
