"""Loopback mode: refuse requests whose Host is not this machine (DNS rebinding)."""

from __future__ import annotations

import re

from starlette.types import ASGIApp, Receive, Scope, Send

from ragbase.errors import RagBaseError
from ragbase.loopback import is_loopback
from ragbase.routes.errors import refusal

__all__ = ["LoopbackHosts"]


class _HostNotAllowedError(RagBaseError):
    status = 403
    code = "host_not_allowed"


_HOST = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]+)(?::[0-9]*)?")
"""A name or an address (IPv6 in brackets), then perhaps a port."""


class LoopbackHosts:
    """A page elsewhere can point its own name at 127.0.0.1 and then call us from a browser."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not _allowed(scope):
            error = _HostNotAllowedError("This server answers to loopback host names only.")
            await refusal(scope, error)(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _allowed(scope: Scope) -> bool:
    hosts = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
    host = _HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
    return host is not None and is_loopback(host[1])
