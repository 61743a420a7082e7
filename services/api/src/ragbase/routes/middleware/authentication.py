"""Lets nobody past without a valid API key, before anything of the request's body is read."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from ragbase.errors import RagBaseError, UnauthenticatedError
from ragbase.models.access import FULL_ACCESS, Access
from ragbase.routes.auth import CALLER, MISSING_KEY
from ragbase.routes.errors import refusal
from ragbase.services.keys_verify import KeyVerifier

__all__ = ["OPEN_PATHS", "Authentication", "presented_key"]

OPEN_PATHS = frozenset({"/", "/docs", "/openapi.json", "/health/live"})
"""Hold no data; a key is not even looked at."""
BRIEF_PATHS = frozenset({"/health", "/health/models", "/health/ready"})
"""Answer anyone, and tell details to those with a key."""


class Authentication:
    """Finds out who calls. Every path but the ones named here needs a key: also unknown ones.

    So no second spelling of a path, and no route that somebody adds, is open by accident.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in OPEN_PATHS:
            try:
                scope[CALLER] = await _caller(scope)
            except RagBaseError as error:
                if scope["path"] not in BRIEF_PATHS:
                    await refusal(scope, error)(scope, receive, send)
                    return
        await self._app(scope, receive, send)


async def _caller(scope: Scope) -> Access:
    verifier: KeyVerifier | None = scope["app"].state.services.verifier
    if verifier is None:
        return FULL_ACCESS
    return await verifier.verify(presented_key(scope["headers"]))


def presented_key(headers: list[tuple[bytes, bytes]]) -> str:
    """The one key that the headers hold. Raises `UnauthenticatedError` for none or several."""
    found = set()
    for name, value in headers:
        if name == b"authorization":
            scheme, _, token = value.strip().partition(b" ")
            if scheme.lower() == b"bearer":
                found.add(token.strip())
        elif name == b"x-api-key":
            found.add(value.strip())
    found.discard(b"")
    if not found:
        raise UnauthenticatedError(MISSING_KEY)
    if len(found) > 1:
        raise UnauthenticatedError(
            "The request holds different API keys; send one.", code="invalid_key"
        )
    return found.pop().decode("latin-1")
