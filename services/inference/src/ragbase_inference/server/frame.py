"""Around every request: CORS, and the key."""

from __future__ import annotations

import hmac
from collections.abc import Container

from starlette.datastructures import MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Frame"]

_CORS = {
    "vary": "origin, access-control-request-method, access-control-request-headers",
    "access-control-allow-origin": "*",
}
_PREFLIGHT = {
    "access-control-allow-methods": "GET,POST",
    "access-control-allow-headers": "content-type",
}


class Frame:
    """Adds TEI's CORS headers to every answer; answers 401 before a body or a method is looked at.

    ``api_key`` "" asks for none. Only ``protected`` paths want it, of ``probes`` only POST: what
    probes and scrapes has no key.
    """

    def __init__(
        self, app: ASGIApp, api_key: str, *, protected: Container[str], probes: Container[str]
    ) -> None:
        self._app = app
        self._expected = f"Bearer {api_key}".encode() if api_key else None
        self._protected = protected
        self._probes = probes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_cors(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_CORS)
            await send(message)

        app = self._app
        if scope["method"] == "OPTIONS":
            app = Response(headers=_PREFLIGHT)
        elif self._wants_key(scope) and not self._is_allowed(scope):
            app = Response(status_code=401, headers={"connection": "close"})
        await app(scope, receive, with_cors)

    def _wants_key(self, scope: Scope) -> bool:
        probe = scope["path"] in self._probes and scope["method"] in ("GET", "HEAD")
        return scope["path"] in self._protected and not probe

    def _is_allowed(self, scope: Scope) -> bool:
        if self._expected is None:
            return True
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        return len(given) == 1 and hmac.compare_digest(given[0], self._expected)
