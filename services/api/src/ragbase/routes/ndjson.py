"""JSON lines in, JSON lines out, both at the same time, in bounded memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeAlias

from pydantic import BaseModel
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ragbase.errors import RagBaseError, TooLargeError

__all__ = ["NDJSON", "LineExchange", "Lines", "Write", "is_line_exchange", "read_lines"]

NDJSON = "application/x-ndjson"
_KINDS = frozenset({NDJSON, "application/ndjson", "application/jsonl", "application/x-jsonlines"})
_PATHS = frozenset({"/v1/documents/batch"})

Lines: TypeAlias = AsyncIterator[bytes | RagBaseError]
Write: TypeAlias = Callable[[BaseModel], Awaitable[None]]
Work: TypeAlias = Callable[[Lines, Write], Awaitable[None]]


def is_line_exchange(scope: Scope) -> bool:
    """Whether a request is answered by a `LineExchange`, to which body limits are left."""
    if scope["path"] not in _PATHS:
        return False
    kind = Headers(scope=scope).get("content-type", "").partition(";")[0].strip().lower()
    return kind in _KINDS


class _PauseTooLongError(RagBaseError):
    status = 408
    code = "body_timeout"


class _CallerGoneError(Exception):
    """The connection ended, or the caller stopped reading."""


class LineExchange(Response):
    """A response that reads the request's body itself, line by line, while it answers.

    ``work`` gets the lines and a function that sends one model as a line. The caller slows us
    down by reading slowly and is slowed down by our not reading on; who does neither for
    ``pause_s`` is given up. When the caller goes away, ``work`` is cancelled.
    """

    def __init__(self, work: Work, *, line_bytes: int, pause_s: float) -> None:
        super().__init__(media_type=NDJSON)
        del self.headers["content-length"]
        self._work = work
        self._line_bytes = line_bytes
        self._pause_s = pause_s

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        """Run ``work``; return when the answer is complete or nobody is there to get it."""
        body = _Body(receive, self._pause_s)
        answer = _Answer(self, send, self._pause_s)
        lines = read_lines(body.pieces(), line_bytes=self._line_bytes)
        work = asyncio.create_task(self._run(lines, answer))
        gone = asyncio.create_task(body.gone())
        try:
            await asyncio.wait([work, gone], return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
            if not work.done():
                work.cancel()
            await asyncio.wait([work, gone])
        if not work.cancelled() and (error := work.exception()) is not None:
            raise error

    async def _run(self, lines: Lines, answer: _Answer) -> None:
        try:
            await self._work(lines, answer.write)
            await answer.end()
        except _CallerGoneError:
            return


class _Body:
    """The request's body as it arrives."""

    def __init__(self, receive: Receive, pause_s: float) -> None:
        self._receive = receive
        self._pause_s = pause_s
        self._complete = asyncio.Event()

    async def pieces(self) -> AsyncIterator[bytes | RagBaseError]:
        """What arrives; a pause that is too long ends it with an error."""
        more = True
        while more:
            try:
                async with asyncio.timeout(self._pause_s):
                    message = await self._receive()
            except TimeoutError:
                yield _PauseTooLongError(
                    f"Nothing came for {self._pause_s:g} s (RAGBASE_BODY_TIMEOUT); what came "
                    "before is answered."
                )
                return
            if message["type"] == "http.disconnect":
                raise _CallerGoneError
            more = message.get("more_body", False)
            yield message.get("body", b"")
        self._complete.set()

    async def gone(self) -> None:
        """Return when the caller goes away after the whole body has come."""
        await self._complete.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass


class _Answer:
    """The response as it is written; begun with the first line, so that errors before it count."""

    def __init__(self, response: Response, send: Send, pause_s: float) -> None:
        self._response = response
        self._send_message = send
        self._pause_s = pause_s
        self._begun = False

    async def write(self, line: BaseModel) -> None:
        await self._begin()
        content = line.model_dump_json().encode() + b"\n"
        await self._send({"type": "http.response.body", "body": content, "more_body": True})

    async def end(self) -> None:
        await self._begin()
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _begin(self) -> None:
        if self._begun:
            return
        self._begun = True
        await self._send(
            {
                "type": "http.response.start",
                "status": self._response.status_code,
                "headers": self._response.raw_headers,
            }
        )

    async def _send(self, message: dict[str, Any]) -> None:
        try:
            async with asyncio.timeout(self._pause_s):
                await self._send_message(message)
        except (TimeoutError, OSError):
            raise _CallerGoneError from None


async def read_lines(pieces: AsyncIterator[bytes | RagBaseError], *, line_bytes: int) -> Lines:
    """Lines without their ends, blank ones left out; one that is too long is an error instead.

    Holds one line at most; what lies beyond ``line_bytes`` of it is read and dropped.
    """
    line = bytearray()
    dropping = False
    async for piece in pieces:
        if isinstance(piece, RagBaseError):
            yield piece
            return
        *ended, rest = piece.split(b"\n")
        for part in ended:
            line += part
            if dropping or len(line) > line_bytes:
                yield _too_long(line_bytes)
            elif line.strip():
                yield bytes(line)
            line, dropping = bytearray(), False
        line += rest
        if len(line) > line_bytes:
            line, dropping = bytearray(), True
    if dropping:
        yield _too_long(line_bytes)
    elif line.strip():
        yield bytes(line)


def _too_long(line_bytes: int) -> TooLargeError:
    return TooLargeError(
        f"The line is longer than {line_bytes} bytes (RAGBASE_MAX_BODY_BYTES).",
        code="body_too_large",
    )
