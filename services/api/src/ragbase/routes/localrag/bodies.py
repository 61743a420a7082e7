"""Bodies of clients that do not say what they send.

The original parsed any body as JSON, so its clients need no ``Content-Type``: `fetch` and curl call
what they are given text or a form. A page in a browser can send just that to a loopback address
without asking first, and there nobody needs a key. But browsers say where a POST comes from (Fetch
standard, "append a request Origin header", and Fetch Metadata), so the two are told apart.
"""

from __future__ import annotations

from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["AssumedJson"]

_OF_BROWSERS: Final = frozenset({b"origin", b"sec-fetch-site"})
_JSON: Final = (b"content-type", b"application/json")


class AssumedJson:
    """Takes the body of every POST for JSON, but for those that a browser sends: these must say so."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST":
            headers: list[tuple[bytes, bytes]] = scope["headers"]
            if not any(name in _OF_BROWSERS for name, _ in headers):
                others = [header for header in headers if header[0] != b"content-type"]
                scope["headers"] = [*others, _JSON]  # in place: logs and metrics read its route
        await self._app(scope, receive, send)
