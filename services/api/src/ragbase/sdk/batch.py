"""Many documents as JSON lines: requests of a bounded size, answers read line by line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Required

import httpx
from pydantic import ValidationError

from ragbase.models.batch import BatchResult
from ragbase.sdk.errors import ApiError, ConnectionFailedError
from ragbase.sdk.options import DocumentOptions
from ragbase.sdk.wire import encode

__all__ = ["BatchAnswer", "BatchDocument", "BatchRequest", "requests"]

LINES_MAX = 500
BYTES_MAX = 4 * 1024 * 1024
"""httpx sends a whole body before it reads the answer; the server holds more than this for a caller
who does. A longer document goes alone."""


class BatchDocument(DocumentOptions, total=False):
    """A document of a batch: what `documents.create` takes."""

    title: Required[str]
    content: Required[str]


@dataclass(frozen=True, slots=True)
class BatchRequest:
    """One request: ``count`` documents, of which the first is number ``first`` of all."""

    first: int
    count: int
    body: bytes

    def arguments(self, *, include_content: bool, respond_async: bool) -> dict[str, Any]:
        """Arguments of `httpx.Client.stream`."""
        headers = {"Content-Type": "application/x-ndjson", "Accept": "application/x-ndjson"}
        if respond_async:
            headers["Prefer"] = "respond-async"
        return {
            "method": "POST",
            "url": "/v1/documents/batch",
            "params": {"include_content": "true" if include_content else "false"},
            "content": self.body,
            "headers": headers,
        }


def requests(documents: Iterable[Mapping[str, Any]]) -> Iterator[BatchRequest]:
    """The documents in requests of bounded size; takes each only when its request is made up."""
    first = 0
    lines: list[bytes] = []
    size = 0
    for document in documents:
        line = encode(document) + b"\n"
        if lines and (len(lines) == LINES_MAX or size + len(line) > BYTES_MAX):
            yield BatchRequest(first, len(lines), b"".join(lines))
            first, lines, size = first + len(lines), [], 0
        lines.append(line)
        size += len(line)
    if lines:
        yield BatchRequest(first, len(lines), b"".join(lines))


class BatchAnswer:
    """Results out of the pieces of an answer, numbered by the place in the whole batch."""

    def __init__(self, request: BatchRequest, response: httpx.Response) -> None:
        self._request = request
        self._response = response
        self._rest = b""
        self._given = 0

    def read(self, piece: bytes) -> Iterator[BatchResult]:
        """The results that are complete with this piece."""
        # Not by str.splitlines: texts hold U+2028 and its like, which JSON leaves as they are.
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            self._given += 1
            yield self._result(line)

    def end(self) -> None:
        """Raises `ConnectionFailedError` when results are missing."""
        if self._given < self._request.count:
            raise ConnectionFailedError(
                f"the answer ended after {self._given} of {self._request.count} results"
            )

    def _result(self, line: bytes) -> BatchResult:
        try:
            result = BatchResult.model_validate_json(line)
        except ValidationError as error:
            raise ApiError(
                "POST /v1/documents/batch: the answer is not RagBase's; is this the right URL, and "
                "are client and server of one version?",
                status=self._response.status_code,
                code="unexpected_answer",
                request_id=self._response.headers.get("X-Request-ID"),
            ) from error
        return result.model_copy(update={"index": self._request.first + result.index})
