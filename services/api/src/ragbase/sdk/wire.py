"""Requests as values, and answers back into models: all that both clients share."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import httpx
from pydantic import TypeAdapter, ValidationError

from ragbase.sdk.errors import ApiError
from ragbase.sdk.form import FileForm

__all__ = ["Call", "backoff", "decode", "encode", "error_of", "is_loopback"]

T = TypeVar("T")

RETRY_AFTER_MAX = 30.0
"""A client that sleeps longer than this looks hung; better to fail and say why."""


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One HTTP call and the type of its answer; ``answer`` None means no body is expected."""

    method: str
    path: str
    answer: TypeAdapter[T] | None
    body: Any = None
    params: Mapping[str, str | int] | None = None
    form: FileForm | None = None
    headers: Mapping[str, str] | None = None

    @contextmanager
    def arguments(self) -> Iterator[dict[str, Any]]:
        """Arguments of an httpx request; what they hold open is closed at the end."""
        if self.form is not None:
            with self.form.arguments() as arguments:
                yield {"params": self.params, "headers": self.headers, **arguments}
            return
        content = None if self.body is None else encode(self.body)
        yield {"params": self.params, "headers": self.headers, "content": content}


def encode(body: object) -> bytes:
    """JSON as UTF-8; text that UTF-8 cannot hold is sent as escapes, for the server to refuse."""
    try:
        return json.dumps(body, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(body, allow_nan=False).encode("ascii")


def decode(call: Call[T], response: httpx.Response) -> T:
    """The answer's model. Raises `ApiError` for an error status and for a body of another shape."""
    if response.is_error or response.is_redirect:
        raise error_of(response)
    if call.answer is None:
        return None  # type: ignore[return-value]  # T is None for calls without an answer
    try:
        return call.answer.validate_json(response.content)
    except ValidationError as error:
        raise ApiError(
            f"{call.method} {call.path}: the answer is not RagBase's ({error.error_count()} fields "
            "differ); is this the right URL, and are client and server of one version?",
            status=response.status_code,
            code="unexpected_answer",
            request_id=response.headers.get("X-Request-ID"),
        ) from error


def error_of(response: httpx.Response) -> ApiError:
    """The error that a response carries, whatever its body looks like."""
    body = _json_object(response)
    detail = body.get("detail")
    return ApiError(
        _message(detail)
        or _reason(body)
        or f"{response.status_code} {response.reason_phrase}".strip(),
        status=response.status_code,
        code=str(body.get("code") or f"http_{response.status_code}"),
        request_id=response.headers.get("X-Request-ID"),
        retry_after=_seconds(response.headers.get("Retry-After")),
        detail=detail,
    )


def backoff(error: ApiError, attempt: int) -> float:
    """Seconds to wait before the next attempt: what the server asked for, else 0.25, 0.5, 1 …"""
    asked = error.retry_after if error.retry_after is not None else float(0.25 * 2**attempt)
    return min(max(asked, 0.05), RETRY_AFTER_MAX)


def is_loopback(url: httpx.URL) -> bool:
    """Whether the URL is this host: a proxy from the environment must not be asked then."""
    return url.host in {"localhost", "::1"} or url.host.startswith("127.")


def _json_object(response: httpx.Response) -> dict[str, Any]:
    try:
        body = json.loads(response.content)
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def _message(detail: object) -> str:
    if isinstance(detail, list):
        return "; ".join(_field_message(item) for item in detail if isinstance(item, dict))
    return detail if isinstance(detail, str) else ""


def _reason(body: dict[str, Any]) -> str:
    """What `/health/ready` says instead of a detail."""
    reason = body.get("reason")
    return reason if isinstance(reason, str) else ""


def _field_message(item: dict[str, Any]) -> str:
    place = item.get("loc", ())  # starts with where it was found: body, query or path
    name = ".".join(str(part) for part in (place[1:] or place))
    message = str(item.get("msg", "invalid"))
    return message if message.startswith(f"{name}:") else f"{name}: {message}"


def _seconds(value: str | None) -> float | None:
    try:
        return None if value is None else max(float(value), 0.0)
    except ValueError:
        return None  # the HTTP-date form; our own server sends seconds
