"""Many documents in one request: as JSON, or as JSON lines while they arrive."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Annotated, Any, TypedDict

from fastapi import APIRouter, Query, Request, Response

from ragbase.errors import InvalidInputError, RagBaseError
from ragbase.models.batch import BatchOut, BatchResult
from ragbase.routes.auth import WRITE
from ragbase.routes.deps import Batches
from ragbase.routes.errors import ErrorBody, ValidationBody
from ragbase.routes.ndjson import NDJSON, LineExchange, Lines, Write, is_line_exchange
from ragbase.routes.openapi import TOO_LARGE, UNAVAILABLE
from ragbase.routes.prefer import Preferences
from ragbase.services.batch import BatchItem, BatchService, Emit

__all__ = ["router"]

router = APIRouter(prefix="/v1/documents", tags=["documents"], dependencies=[WRITE])

_DOCUMENTS = {"type": "array", "items": {"$ref": "#/components/schemas/DocumentIn"}}
_OBJECT = {"type": "object", "required": ["documents"], "properties": {"documents": _DOCUMENTS}}
_BODY = {
    "required": True,
    "content": {
        "application/json": {"schema": {"anyOf": [_OBJECT, _DOCUMENTS]}},
        NDJSON: {"schema": {"type": "string", "description": "One document a line."}},
    },
}


class _How(TypedDict):
    include_content: bool
    later: bool


@router.post(
    "/batch",
    response_model=BatchOut,
    responses={
        200: {
            "description": "One result an item, in order; as lines where lines were sent.",
            "content": {NDJSON: {"schema": {"$ref": "#/components/schemas/BatchResult"}}},
        },
        422: {
            "model": ErrorBody | ValidationBody,
            "description": "The batch as such cannot be read.",
        },
        **TOO_LARGE,
        **UNAVAILABLE,
    },
    openapi_extra={"requestBody": _BODY},
)
async def create_documents(
    request: Request,
    batches: Batches,
    prefer: Preferences,
    include_content: Annotated[
        bool, Query(description="true: results repeat the documents' texts.")
    ] = False,
) -> Any:
    """Store many documents; the answer is 200 and has for each item the status it had alone.

    One bad item harms no other. Items with one `external_id` are stored in their order: the last
    one wins. JSON: an array, alone or as `documents`, of at most `RAGBASE_MAX_BATCH` items. JSON
    lines (`Content-Type: application/x-ndjson`): any number, each at most `RAGBASE_MAX_BODY_BYTES`
    long, answered line by line while they arrive. With `Prefer: respond-async` each item is checked
    and becomes a job.
    """
    how: _How = {"include_content": include_content, "later": prefer.respond_async}
    if is_line_exchange(request.scope):
        return _exchange(batches, how)
    kind = _kind(request)
    if kind != "application/json" and not kind.endswith("+json"):
        raise InvalidInputError(
            f"Say what the body is: Content-Type: application/json, or {NDJSON}.",
            code="unknown_content_type",
        )
    documents = _documents(_parsed(await request.body()), most=batches.limits.items)
    results: list[BatchResult] = []
    await batches.run(_items(documents), _into(results), **how)
    content = BatchOut(results=results).model_dump_json()
    return Response(content, media_type="application/json")


def _kind(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _exchange(batches: BatchService, how: _How) -> LineExchange:
    async def work(lines: Lines, write: Write) -> None:
        async with aclosing(_decoded(lines)) as items:
            await batches.run(items, write, **how)

    limits = batches.limits
    return LineExchange(work, line_bytes=limits.line_bytes, pause_s=limits.pause_s)


async def _decoded(lines: Lines) -> AsyncGenerator[BatchItem]:
    async for line in lines:
        if isinstance(line, RagBaseError):
            yield BatchItem(line)
            continue
        try:
            value = _parsed(line)
        except InvalidInputError as error:
            value = error
        yield BatchItem(value, len(line))


def _parsed(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        place = f" at position {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
        raise InvalidInputError(
            f"This is no JSON that can be read{place}.", code="invalid_json"
        ) from None


def _documents(body: Any, *, most: int) -> list[Any]:
    documents = body.get("documents") if isinstance(body, dict) else body
    if not isinstance(documents, list):
        raise InvalidInputError(
            "Send an array of documents, alone or as `documents` of an object.",
            code="not_a_batch",
            field="documents",
        )
    if len(documents) > most:
        raise InvalidInputError(
            f"documents has {len(documents)} items; at most {most} are taken (RAGBASE_MAX_BATCH). "
            f"Lines (Content-Type: {NDJSON}) may be any number.",
            code="batch_too_large",
            field="documents",
        )
    return documents


async def _items(documents: list[Any]) -> AsyncIterator[BatchItem]:
    for document in documents:
        yield BatchItem(document)


def _into(results: list[BatchResult]) -> Emit:
    async def take(result: BatchResult) -> None:
        results.append(result)

    return take
