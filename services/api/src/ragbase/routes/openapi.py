"""What the OpenAPI document says of all routes alike: error answers, and who may call."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.routing import iter_route_contexts

from ragbase.routes.auth import Require, requirement_of
from ragbase.routes.errors import ErrorBody

__all__ = [
    "CONFLICT",
    "NOT_FOUND",
    "TOO_LARGE",
    "UNAVAILABLE",
    "UNSUPPORTED",
    "UPSTREAM",
    "Responses",
    "describe_security",
    "requirements",
]

Responses = dict[int | str, dict[str, Any]]
"""As FastAPI's ``responses``: by status."""


def _error(status: int, description: str) -> Responses:
    return {status: {"model": ErrorBody, "description": description}}


NOT_FOUND = _error(404, "It does not exist.")
CONFLICT = _error(409, "It contradicts what is stored.")
TOO_LARGE = _error(413, "Larger than a limit; the text names the limit.")
UNSUPPORTED = _error(
    415, "A kind of file or body that is not taken; the text names those that are."
)
UPSTREAM = _error(502, "The model server gave an unusable answer.")
UNAVAILABLE: Responses = {
    **_error(429, "Too many requests in flight; see `Retry-After`."),
    **UPSTREAM,
    **_error(503, "A dependency is down; try again later."),
}

SCHEMES = {
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "`Authorization: Bearer rb_<id>_<secret>`",
    },
    "apiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
}
"""Either will do. A server on loopback asks for none unless `RAGBASE_AUTH=on`."""


def requirements(app: FastAPI) -> dict[tuple[str, str], Require | None]:
    """Path template and method of every route, with what it requires of its callers."""
    return {
        (str(route.path_format or route.path), method.lower()): (
            requirement_of(route.dependant) if hasattr(route, "dependant") else None
        )
        for route in iter_route_contexts(app.routes)
        for method in sorted(route.methods or ())
    }


def describe_security(app: FastAPI) -> None:
    """Have the app's document declare the two ways to give a key, and each route's scope."""
    undescribed = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            _describe(undescribed(), requirements(app))
        return app.openapi_schema or {}

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's way to extend the document


def _describe(document: dict[str, Any], required: dict[tuple[str, str], Require | None]) -> None:
    components = document.setdefault("components", {})
    components["securitySchemes"] = SCHEMES
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            needs = required.get((path, method))
            if needs is not None:
                _describe_operation(operation, needs)


def _describe_operation(operation: dict[str, Any], needs: Require) -> None:
    operation["security"] = [{name: []} for name in SCHEMES]
    operation["x-scope"] = needs.scope
    body = {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorBody"}}}
    refusals = {
        "401": "No API key, or none that is valid.",
        "403": f"The key lacks the scope `{needs.scope}`"
        + (", or is bound to collections." if needs.unbound or needs.scope == "admin" else "."),
    }
    for status, description in refusals.items():
        operation["responses"][status] = {"description": description, "content": body}
