"""The two shapes of an error: a string, or an object; which one goes by the path."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.types import Scope

from ragbase.errors import (
    ConfigurationError,
    InvalidInputError,
    RagBaseError,
    UpstreamError,
)
from ragbase.models.localrag_out import ObjectError, StringError
from ragbase.routes.errors import error_headers, says_json
from ragbase.telemetry.logs import get_logger

__all__ = ["OBJECT_ERRORS", "STRING_ERRORS", "install_error_handlers", "refusal"]

_log = get_logger("ragbase.localrag")

Responses = dict[int | str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Form:
    """What a route says of a wrong request: ``missing`` where one of ``required`` is not there,
    ``texts`` of other wrong fields."""

    required: tuple[str, ...] = ()
    missing: str = ""
    texts: Mapping[str, str] | None = None
    is_object: bool = False


_FORMS: Final[Mapping[str, Form]] = {
    "/v1/chunk": Form(
        ("text", "model"), "Missing required parameters: text, model", is_object=True
    ),
    "/v1/query": Form(
        ("query", "chunks", "embeddingModel"),
        "Missing required parameters: query, chunks, embeddingModel",
        is_object=True,
    ),
    "/v1/models": Form(is_object=True),
    "/v1/store": Form(
        ("document",),
        "Document text is required",
        {"folder_id": "folder_id must be a text of at most 32 characters"},
    ),
    "/v1/retrieve": Form(
        ("query",),
        "Query is required",
        {"threshold": "Threshold must be a number between 0 and 1"},
    ),
    "/v1/delete": Form(("file_id",), "file_id is required"),
    "/v1/models/load": Form(
        ("model", "type"),
        "Model name and type (embedding or reranker) are required",
        {"type": "Type must be either 'embedding', 'reranker', or 'chat'"},
    ),
    "/v1/models/unload": Form(("model",), "Model name is required"),
}
_PLAIN: Final = Form()

_NOT_JSON = "The request body is not valid JSON"
_NO_OBJECT = "The request body must be a JSON object"
_NOT_CALLED_JSON = "Send the body as JSON: with the header Content-Type: application/json"
_OF_MODELS = frozenset({"model_wrong_kind", "model_unusable", "model_too_large"})
"""A model file that cannot do what it is asked: the server's fault to its callers."""


def _described(model: type[Any]) -> Responses:
    said = {
        400: "The request is wrong; the text says what.",
        404: "There is no such model or file.",
        413: "Larger than a limit; the text names it.",
        429: "Too much at once; see `Retry-After`.",
        500: "It failed; the text says what, without internals.",
        503: "A model or the database is away; see `Retry-After`.",
    }
    return {status: {"model": model, "description": text} for status, text in said.items()}


STRING_ERRORS: Final = _described(StringError)
OBJECT_ERRORS: Final = _described(ObjectError)


def refusal(
    scope: Scope, error: RagBaseError, headers: Mapping[str, str] | None = None
) -> Response:
    """The answer for an error raised on purpose, in the shape of the path."""
    status = _status(error)
    if status >= 500:
        _log.warning("request_failed", code=error.code, reason=error.message)
    code = None if status in (400, 500) else error.code
    param = error.field if isinstance(error, InvalidInputError) else None
    if error.code == "openai_not_configured":
        param = "useOpenAI"
    kind = _kind(error, status)
    extra = {**error_headers(error), **(headers or {})}
    return _answer(scope, status, error.message, kind=kind, param=param, code=code, headers=extra)


def _status(error: RagBaseError) -> int:
    if error.code == "openai_not_configured":
        return 400
    if error.code in _OF_MODELS or isinstance(error, UpstreamError):
        return 500
    return 400 if error.status == 422 else error.status


def _kind(error: RagBaseError, status: int) -> str:
    if isinstance(error, ConfigurationError):
        return "configuration_error"
    return "server_error" if status >= 500 else "invalid_request_error"


def _answer(
    scope: Scope,
    status: int,
    message: str,
    *,
    kind: str = "invalid_request_error",
    param: str | None = None,
    code: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    error: object = message
    if _FORMS.get(scope["path"], _PLAIN).is_object:
        error = {"message": message, "type": kind, "param": param, "code": code}
    # ASCII: a lone surrogate in a name that is repeated must not break the answer.
    body = json.dumps({"error": error}, ensure_ascii=True)
    return Response(body, status, dict(headers or {}), media_type="application/json")


async def _on_ragbase_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, RagBaseError):
        raise TypeError from error
    return refusal(request.scope, error)


async def _on_validation_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, RequestValidationError):
        raise TypeError from error
    message, param = _fault(request, error.errors())
    return _answer(request.scope, 400, message, param=param)


def _fault(request: Request, faults: Any) -> tuple[str, str | None]:
    """What is wrong, and the field: a missing one before all others."""
    form = _FORMS.get(request.url.path, _PLAIN)
    for fault in faults:
        if fault["type"] == "json_invalid" or (fault["loc"] == ("body",) and _absent(fault)):
            return _NOT_JSON, None
        if fault["type"] in ("model_attributes_type", "dict_type") and len(fault["loc"]) == 1:
            return (_NO_OBJECT if says_json(request) else _NOT_CALLED_JSON), None
    missing = {str(each["loc"][1]) for each in faults if len(each["loc"]) == 2 and _absent(each)}
    for field in form.required:
        if field in missing:
            return form.missing, field
    first = faults[0]
    path = ".".join(str(part) for part in first["loc"][1:])
    field = path.partition(".")[0]
    param = str((first.get("ctx") or {}).get("param") or field) or None
    known = (form.texts or {}).get(field)
    return known or (first["msg"] if not path else f"{path}: {first['msg']}"), param


def _absent(fault: Mapping[str, Any]) -> bool:
    """As the original: a value that is false in JavaScript counts as missing; so does a blank."""
    value = fault.get("input")
    if fault["type"] == "missing":
        return True
    return value in ("", 0, None, False) or (isinstance(value, str) and not value.strip())


async def _on_http_exception(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise TypeError from error
    if error.status_code in (404, 405):
        return Response("404 Not Found", 404, media_type="text/plain")
    if error.status_code == 400:  # bytes that are no UTF-8
        return _answer(request.scope, 400, _NOT_JSON)
    return _answer(request.scope, error.status_code, str(error.detail))


async def _on_unexpected(request: Request, error: Exception) -> Response:
    _log.error("unexpected_error", exc_info=error)
    return _answer(request.scope, 500, "Internal Server Error", kind="server_error")


def install_error_handlers(app: FastAPI) -> None:
    """Register the handlers, also for what middleware refuses."""
    app.state.refusal = refusal
    app.add_exception_handler(RagBaseError, _on_ragbase_error)
    app.add_exception_handler(RequestValidationError, _on_validation_error)
    app.add_exception_handler(HTTPException, _on_http_exception)
    app.add_exception_handler(Exception, _on_unexpected)
