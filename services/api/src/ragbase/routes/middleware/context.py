"""Request id, metrics and the one log line a request."""

from __future__ import annotations

import asyncio
import re
import secrets
from time import perf_counter

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ragbase.errors import UnavailableError
from ragbase.models.access import Access
from ragbase.routes.auth import CALLER
from ragbase.routes.errors import refusal
from ragbase.telemetry import metrics
from ragbase.telemetry.logs import get_logger

__all__ = ["RequestContext", "route_template"]

_SAFE_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_QUIET = frozenset({"/health/live", "/health/ready", "/metrics"})
"""Probes and scrapes arrive every few seconds and say nothing when they succeed."""


def route_template(scope: Scope) -> str:
    """The route's path template; unknown paths share one label, so labels stay bounded.

    Those of the second API begin with its name, as some paths are in both.
    """
    route = scope.get("route")
    prefix: str = getattr(scope["app"].state, "label_prefix", "")
    return prefix + (getattr(route, "path", None) or "unmatched")


_LEAVING = UnavailableError(
    "The server is shutting down; send the request again.", code="shutting_down"
)


def _leaving(scope: Scope) -> bool:
    """Whether the process has been told to end, so that a cancelled request is its doing."""
    services = getattr(scope["app"].state, "services", None)
    return services is not None and services.health.leaving


def _request_id(scope: Scope) -> str:
    for name, value in scope["headers"]:
        if name == b"x-request-id":
            given: str = value.decode("latin-1")
            if _SAFE_ID.fullmatch(given):
                return given
    return secrets.token_hex(8)


class RequestContext:
    """Echoes or makes ``X-Request-ID``; counts, times and logs the request."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._log = get_logger("ragbase.http")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = _request_id(scope)
        status, sent = 500, False

        async def send_with_id(message: Message) -> None:
            nonlocal status, sent
            sent = True
            if message["type"] == "http.response.start":
                status = message["status"]
                message.setdefault("headers", [])
                message["headers"].append((b"x-request-id", request_id.encode("latin-1")))
            await send(message)

        started = perf_counter()
        metrics.HTTP_INFLIGHT.inc()
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            try:
                await self._app(scope, receive, send_with_id)
            except asyncio.CancelledError:
                if not _leaving(scope):
                    raise
                # The server's patience has ended; the caller learns it, and nothing was stored.
                # An answer that has begun is cut, which its reader sees.
                if not sent:
                    await refusal(scope, _LEAVING)(scope, receive, send_with_id)
            finally:
                metrics.HTTP_INFLIGHT.dec()
                self._record(scope, status, perf_counter() - started)

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        route, method = route_template(scope), _method(scope["method"])
        metrics.HTTP_REQUESTS.labels(method, route, str(status)).inc()
        metrics.HTTP_SECONDS.labels(method, route).observe(seconds)
        if status < 400 and scope["path"] in _QUIET:
            return
        caller: Access | None = scope.get(CALLER)
        key = {} if caller is None or caller.key_id is None else {"key": caller.key_id}
        self._log.info(
            "request", method=method, route=route, status=status, ms=round(seconds * 1000, 2), **key
        )


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


def _method(method: str) -> str:
    """Callers may send any word as method; a label may not be any word."""
    return method if method in _METHODS else "OTHER"
