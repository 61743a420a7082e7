"""How errors become answers: the contract's shape plus a stable ``code``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import iter_route_contexts
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.types import Scope

from ragbase.errors import (
    InvalidInputError,
    OverloadedError,
    RagBaseError,
    UnauthenticatedError,
    UnavailableError,
)
from ragbase.telemetry.logs import get_logger

__all__ = [
    "HTTP_CODES",
    "ErrorBody",
    "ValidationBody",
    "error_headers",
    "error_response",
    "install_error_handlers",
    "refusal",
    "says_json",
]

_log = get_logger("ragbase.errors")

_ECHO_CHARS = 200
"""A wrong value is shown back to help find it; a wrong 10 MB value is not."""

_NOT_JSON = (
    "The body is no JSON that can be read: not UTF-8, nested too deep, or a number too long."
)
_UNREADABLE = "There was an error parsing the body"
"""FastAPI's words for a body that its JSON reader gave up on."""

HTTP_CODES: Final = {
    400: "bad_request",
    404: "not_found",
    405: "method_not_allowed",
    415: "unsupported",
}
"""Codes of what the framework refuses by itself."""

_FORM_ADVICE: Final = (
    "Let your HTTP client build the form: it must send Content-Type: multipart/form-data with a "
    "boundary, and at most the parts that the route names."
)


class ErrorBody(BaseModel):
    """An error raised by a route."""

    detail: str
    code: str


class ValidationBody(BaseModel):
    """A request that does not fit the schema; one entry a fault."""

    detail: list[dict[str, Any]]
    code: str


def _json(status: int, body: object, headers: Mapping[str, str] | None = None) -> Response:
    # ASCII output: a lone surrogate in the echoed input must not break the answer.
    content = json.dumps(body, ensure_ascii=True, default=str).encode("ascii")
    return Response(content, status, dict(headers or {}), media_type="application/json")


def error_headers(error: RagBaseError) -> dict[str, str]:
    """What an error tells HTTP clients beside its body."""
    if isinstance(error, UnauthenticatedError):
        return {"www-authenticate": "Bearer"}
    if isinstance(error, OverloadedError):
        return {"retry-after": str(max(1, round(error.retry_after)))}
    if isinstance(error, UnavailableError):
        return {"retry-after": "2"}
    return {}


def refusal(
    scope: Scope, error: RagBaseError, headers: Mapping[str, str] | None = None
) -> Response:
    """What middleware answers: in the form of the app that it stands before."""
    form = getattr(scope["app"].state, "refusal", None)
    return error_response(error, headers) if form is None else form(scope, error, headers)


def error_response(error: RagBaseError, headers: Mapping[str, str] | None = None) -> Response:
    """The answer for an error raised on purpose."""
    extra = {**error_headers(error), **(headers or {})}
    if isinstance(error, InvalidInputError) and error.field and error.status == 422:
        return _json(422, _field_fault(error), extra)
    return _json(error.status, {"detail": error.message, "code": error.code}, extra)


def _field_fault(error: InvalidInputError) -> dict[str, Any]:
    """Same shape as schema faults, so that clients need one reader."""
    loc = ["body", *(error.field or "").split(".")]
    fault = {"type": error.code, "loc": loc, "msg": error.message, "input": None}
    return {"detail": [fault], "code": error.code}


def _shorten(value: Any) -> Any:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return value if len(text) <= _ECHO_CHARS else text[:_ECHO_CHARS] + "…"


def _schema_fault(fault: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: fault[key] for key in ("type", "loc", "msg") if key in fault}
    kept["input"] = _shorten(fault.get("input"))
    if "ctx" in fault:
        kept["ctx"] = {key: str(value) for key, value in fault["ctx"].items()}
    return kept


def says_json(request: Request) -> bool:
    """Whether the request calls its body JSON."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind == "application/json" or kind.endswith("+json")


async def _on_ragbase_error(_: Request, error: Exception) -> Response:
    if not isinstance(error, RagBaseError):
        raise TypeError from error
    if error.status >= 500:
        _log.warning("request_failed", code=error.code, reason=error.message)
    return error_response(error)


async def _on_validation_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, RequestValidationError):
        raise TypeError from error
    faults = [_schema_fault(fault) for fault in error.errors()]
    for fault in faults:
        if fault["type"] == "model_attributes_type" and not says_json(request):
            fault["msg"] = "Say that the body is JSON: send Content-Type: application/json."
    return _json(422, {"detail": faults, "code": "validation_error"})


async def _on_http_exception(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise TypeError from error
    if error.status_code == 400 and error.detail == _UNREADABLE:
        # Bytes that are no UTF-8: to the caller the same fault as any other malformed JSON.
        fault = {"type": "json_invalid", "loc": ["body"], "msg": _NOT_JSON}
        return _json(422, {"detail": [{**fault, "input": None}], "code": "validation_error"})
    detail = str(error.detail)
    headers = {name.lower(): value for name, value in (error.headers or {}).items()}
    if error.status_code == 400 and _sends_form(request):
        detail = f"{detail.rstrip('.')}. {_FORM_ADVICE}"
    if error.status_code == 405:
        headers["allow"] = ", ".join(sorted(_methods(request)))
    body = {"detail": detail, "code": HTTP_CODES.get(error.status_code, "http_error")}
    return _json(error.status_code, body, headers)


def _sends_form(request: Request) -> bool:
    return request.headers.get("content-type", "").lower().startswith("multipart/")


def _methods(request: Request) -> set[str]:
    """What the path takes: a path may have a route for each method, and each knows only its own."""
    return {
        method
        for route in iter_route_contexts(request.app.routes)
        if route.methods and route.path_regex.match(request.url.path)
        for method in route.methods
    }


async def _on_unexpected(_: Request, error: Exception) -> Response:
    _log.error("unexpected_error", exc_info=error)
    body = {"detail": "Internal Server Error", "code": "internal_error"}
    return _json(500, body)


def install_error_handlers(app: FastAPI) -> None:
    """Register the handlers; nothing unexpected shows its text to a caller."""
    app.add_exception_handler(RagBaseError, _on_ragbase_error)
    app.add_exception_handler(RequestValidationError, _on_validation_error)
    app.add_exception_handler(HTTPException, _on_http_exception)
    app.add_exception_handler(Exception, _on_unexpected)
