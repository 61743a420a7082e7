"""Bounds on what callers can make the process hold: body size and requests in flight."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ragbase.errors import OverloadedError, TooLargeError
from ragbase.routes.errors import error_response
from ragbase.telemetry import metrics

__all__ = ["BodyLimit", "InflightLimit"]


class BodyLimit:
    """Answers 413 as soon as a body is known to pass ``max_bytes``, announced or not."""

    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self._app = app
        self._max = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if _announced(scope) > self._max:
            await self._refuse(scope, receive, send)
            return
        received = 0
        started = False

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._max:
                raise _BodyTooLargeError
            return message

        async def watched(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, counted, watched)
        except _BodyTooLargeError:
            if started:
                raise
            await self._refuse(scope, receive, send)

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        error = TooLargeError(
            f"The body is larger than {self._max} bytes (RAGBASE_MAX_BODY_BYTES).",
            code="body_too_large",
        )
        # The rest of the body stays unread, so the connection cannot be used again.
        response = error_response(error, headers={"connection": "close"})
        await response(scope, receive, send)


class _BodyTooLargeError(BaseException):
    """Passes through handlers that catch Exception while they read the body."""


def _announced(scope: Scope) -> int:
    for name, value in scope["headers"]:
        if name == b"content-length":
            return int(value) if value.isdigit() else 0
    return 0


class InflightLimit:
    """Answers 429 with ``Retry-After`` beyond ``limit`` concurrent requests under ``/v1``.

    Health, metrics and the page are never shed: probes must tell load from death.
    """

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit
        self._inflight = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith("/v1"):
            await self._app(scope, receive, send)
            return
        if self._inflight >= self._limit:
            metrics.HTTP_SHED.inc()
            error = OverloadedError(
                f"{self._limit} requests are in flight (RAGBASE_MAX_INFLIGHT); try again shortly."
            )
            await error_response(error)(scope, receive, send)
            return
        self._inflight += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._inflight -= 1
