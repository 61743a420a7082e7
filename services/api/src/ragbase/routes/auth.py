"""Who may call what: every route declares its scope with `require` and so learns its caller.

Two locks, one behind the other. `ragbase.routes.middleware.authentication` lets nobody past
without a valid key, but for the few paths it names. `require` then checks the scope; services are
handed out (`ragbase.routes.deps`) only where it has run, so a route that forgot it answers nobody.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import cast

from fastapi import Depends, Request
from fastapi.dependencies.models import Dependant

from ragbase.errors import ForbiddenError, UnauthenticatedError
from ragbase.models.access import SCOPES, Access, Scope

__all__ = [
    "ADMIN",
    "CALLER",
    "MISSING_KEY",
    "READ",
    "WRITE",
    "Require",
    "bound_access",
    "known_caller",
    "require",
    "requirement_of",
]

CALLER = "ragbase.caller"
"""Where the middleware leaves the caller's `Access` in the ASGI scope; None: no valid key."""
_CHECKED = "ragbase.checked"

MISSING_KEY = "Send an API key: `Authorization: Bearer rb_…`, or `X-API-Key: rb_…`."


@dataclass(frozen=True, slots=True)
class Require:
    """A dependency that lets callers with ``scope`` pass and yields their `Access`.

    ``unbound`` refuses keys that are bound to collections: for what spans all of them.
    """

    scope: Scope
    unbound: bool = False

    async def __call__(self, request: Request) -> Access:
        access = known_caller(request)
        if access is None:
            raise UnauthenticatedError(MISSING_KEY)
        if not access.may(self.scope):
            raise ForbiddenError(
                f"This key lacks the scope `{self.scope}`. Use one that has it, or make one: "
                f"`ragbase keys create --scope {self.scope}`."
            )
        if self.unbound and access.collections is not None:
            raise ForbiddenError(
                "This key is bound to collections, and this concerns all of them. Use a key "
                "without a binding.",
                code="key_is_bound",
            )
        request.scope[_CHECKED] = access
        return access


@cache
def require(scope: Scope, *, unbound: bool = False) -> Require:
    """What a router or route names in its ``dependencies``.

    Yields the caller's `Access`; 401 without a valid key, 403 ``scope_missing`` without the scope.
    """
    return Require(scope, unbound)


READ, WRITE, ADMIN = (Depends(require(scope)) for scope in SCOPES)
"""The three as dependencies: ``dependencies=[READ]``."""


def known_caller(request: Request) -> Access | None:
    """The caller, where there is a valid key or authentication is off; checks no scope."""
    return cast("Access | None", request.scope.get(CALLER))


def bound_access(request: Request) -> Access:
    """The caller of a route that has checked its scope. `RuntimeError` where it has not."""
    access = request.scope.get(_CHECKED)
    if access is None:
        raise RuntimeError(
            f"{request.method} {request.url.path} declares no scope: give its router "
            "dependencies=[READ] (or WRITE, ADMIN)"
        )
    return cast(Access, access)


def requirement_of(dependant: Dependant) -> Require | None:
    """What a route requires of its callers; None where it declares nothing."""
    if isinstance(dependant.call, Require):
        return dependant.call
    found = map(requirement_of, dependant.dependencies)
    return next((each for each in found if each is not None), None)
