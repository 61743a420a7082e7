"""Bounds on what callers can make the process hold: body size and time, requests in flight."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ragbase.errors import OverloadedError, RagBaseError, TooLargeError
from ragbase.routes.errors import refusal
from ragbase.routes.ndjson import is_line_exchange
from ragbase.telemetry import metrics

__all__ = ["BodyBounds", "BodyLimit", "InflightLimit"]


@dataclass(frozen=True, slots=True)
class BodyBounds:
    """Most bytes of a body, the time in which it must have arrived, and the size's setting."""

    max_bytes: int
    timeout_s: float
    setting: str


class BodyLimit:
    """Answers 413 as soon as a body is known to pass its bounds, announced or not.

    A body that is not there in time is 408: half-sent ones would otherwise hold their places in
    flight for ever. ``paths`` have bounds of their own. Bodies that are answered line by line bound lines and pauses
    themselves (`ragbase.routes.ndjson`).
    """

    def __init__(
        self, app: ASGIApp, bounds: BodyBounds, paths: Mapping[str, BodyBounds] | None = None
    ) -> None:
        self._app = app
        self._bounds = bounds
        self._paths = paths or {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or is_line_exchange(scope):
            await self._app(scope, receive, send)
            return
        bounds = self._paths.get(scope["path"], self._bounds)
        if _announced(scope) > bounds.max_bytes:
            await _refuse(_too_large(bounds), scope, receive, send)
            return
        received = 0
        complete = False
        started = False
        deadline = asyncio.get_running_loop().time() + bounds.timeout_s

        async def counted() -> Message:
            nonlocal received, complete
            if complete:  # what comes now is the caller's going away
                return await receive()
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                raise _BodyRefusedError(_too_slow(bounds)) from None
            complete = not message.get("more_body", False)
            received += len(message.get("body", b""))
            if received > bounds.max_bytes:
                raise _BodyRefusedError(_too_large(bounds))
            return message

        async def watched(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, counted, watched)
        except _BodyRefusedError as refused:
            if started:
                raise
            await _refuse(refused.error, scope, receive, send)


def _too_large(bounds: BodyBounds) -> RagBaseError:
    return TooLargeError(
        f"The body is larger than {bounds.max_bytes} bytes ({bounds.setting}).",
        code="body_too_large",
    )


def _too_slow(bounds: BodyBounds) -> RagBaseError:
    return _BodyTimeoutError(
        f"The body did not arrive within {bounds.timeout_s:g} s (RAGBASE_BODY_TIMEOUT)."
    )


class _BodyTimeoutError(RagBaseError):
    status = 408
    code = "body_timeout"


class _BodyRefusedError(BaseException):
    """Passes through handlers that catch Exception while they read the body."""

    def __init__(self, error: RagBaseError) -> None:
        super().__init__(error.message)
        self.error = error


async def _refuse(error: RagBaseError, scope: Scope, receive: Receive, send: Send) -> None:
    # The rest of the body stays unread, so the connection cannot be used again.
    response = refusal(scope, error, headers={"connection": "close"})
    await response(scope, receive, send)


def _announced(scope: Scope) -> int:
    for name, value in scope["headers"]:
        if name == b"content-length":
            return int(value) if value.isdigit() else 0
    return 0


class InflightLimit:
    """Answers 429 with ``Retry-After`` beyond ``limit`` concurrent requests under ``/v1``.

    Requests that store something are slow and take at most ``writes`` of these places, so that
    ingest never shuts searches out. Health, metrics and the page are never shed: probes must tell
    load from death.
    """

    def __init__(self, app: ASGIApp, limit: int, writes: int) -> None:
        self._app = app
        self._all = _Places(limit, "requests", "RAGBASE_MAX_INFLIGHT")
        self._writes = _Places(min(writes, limit), "writes", "RAGBASE_MAX_INFLIGHT_WRITES")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith("/v1"):
            await self._app(scope, receive, send)
            return
        needed = [self._all, self._writes] if _stores(scope) else [self._all]
        full = next((places for places in needed if places.taken >= places.limit), None)
        if full is not None:
            metrics.HTTP_SHED.inc()
            await refusal(scope, full.refused())(scope, receive, send)
            return
        for places in needed:
            places.taken += 1
        try:
            await self._app(scope, receive, send)
        finally:
            for places in needed:
                places.taken -= 1


@dataclass(slots=True)
class _Places:
    limit: int
    what: str
    setting: str
    taken: int = 0

    def refused(self) -> OverloadedError:
        return OverloadedError(
            f"{self.limit} {self.what} are in flight ({self.setting}); try again shortly."
        )


def _stores(scope: Scope) -> bool:
    """Whether a request changes what is stored; searches are POSTs, too."""
    return scope["method"] in _WRITING and scope["path"].startswith(_STORED)


_WRITING = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_STORED = ("/v1/documents", "/v1/collections", "/v1/store", "/v1/delete")
