"""What a model server answered, and what an answer other than 200 means.

TEI speaks four error shapes and OpenAI a fifth, so the status is looked at first and the body is
only a hint for people:

    {"error": "…", "error_type": "Validation"}         TEI's own routes
    {"message": "…", "code": 422, "type": "…"}         TEI's /v1/embeddings
    {"error": {"message": "…", "type": "…"}}           OpenAI and most of its followers
    Failed to parse the request body as JSON: …        text/plain, before TEI reads the inputs
    (nothing)                                          401, 404, 405
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from time import time
from typing import Any

import orjson

from ragbase.clients.vectors import UnusableAnswerError
from ragbase.errors import EmbedderUnavailableError, UpstreamError

__all__ = ["Answer", "RefusedError", "TransientError", "checked", "json_of", "retry_after"]

TRANSIENT = frozenset({429, 500, 502, 503, 504})
"""Statuses of a server that may do better in a moment. 424 (TEI: the model itself failed) is not
among them."""
REASON_CHARS = 300

# The server's own text about a key may hold parts of it.
_KEY = {
    401: "It wants another key: see EMBEDDING_API_KEY.",
    403: "Its key gives no right to this: see EMBEDDING_API_KEY.",
}
# OpenAI answers 404 with a text for an unknown model.
_ROUTE = {
    404: "There is no such route: EMBEDDING_URL must be its base URL.",
    405: "There is no such route: EMBEDDING_URL must be its base URL.",
}
_REDIRECT = "It redirects; EMBEDDING_URL must be its final address."


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP answer, read to its end (or to the bound of error texts)."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


class TransientError(EmbedderUnavailableError):
    """Worth a retry, after ``retry_after`` seconds where the server named a time."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class RefusedError(UpstreamError):
    """The server understood and said no: the same request would be refused again."""

    def __init__(self, status: int, reason: str, *, structured: bool = False) -> None:
        super().__init__(f"The embedding server refused with {status}. {reason}".rstrip())
        self.http_status = status
        self.reason = reason
        self._structured = structured

    @property
    def by_size(self) -> bool:
        """Too many bytes (413) or too many or too long inputs (422; TEI mixes the two up)."""
        return self.http_status in (413, 422)

    @property
    def of_input(self) -> bool:
        """The model dislikes the input; without JSON it is the request's form that was refused."""
        return self.http_status == 413 or (self.http_status in (400, 422) and self._structured)

    @property
    def of_setup(self) -> bool:
        """Key or address are wrong: nothing but a change of settings helps."""
        return (
            self.http_status in _KEY or self.http_status in _ROUTE or 300 <= self.http_status < 400
        )


def checked(answer: Answer, *, secret: str = "") -> Answer:
    """``answer`` if it is 200; else `TransientError` or `RefusedError`, without ``secret``."""
    if answer.status == HTTPStatus.OK:
        return answer
    if answer.status in TRANSIENT:
        raise TransientError(
            f"The embedding server answered {answer.status}: {_phrase(answer.status)}.",
            retry_after=retry_after(answer.headers),
        )
    if 300 <= answer.status < 400:
        raise RefusedError(answer.status, _REDIRECT)
    text, structured = _sentence(answer.body)
    if answer.status in _KEY or (answer.status in _ROUTE and not (structured and text)):
        raise RefusedError(answer.status, _KEY.get(answer.status) or _ROUTE[answer.status])
    if secret:
        text = text.replace(secret, "[key]")
    reason = " ".join(text.split())[:REASON_CHARS]
    raise RefusedError(answer.status, reason, structured=structured)


def json_of(answer: Answer) -> Any:
    """The body as JSON, else `UnusableAnswerError`. NaN is no JSON."""
    try:
        return orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        raise UnusableAnswerError("The embedding server sent broken JSON.") from None


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Seconds of ``Retry-After`` (a number or an HTTP date, RFC 9110 §10.2.3), if any."""
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d+)?", value):
        return float(value)
    try:
        moment = parsedate_to_datetime(value).timestamp()
    except ValueError:
        return None
    return max(0.0, moment - (time() if now is None else now))


def _phrase(status: int) -> str:
    return HTTPStatus(status).phrase.lower()


def _sentence(body: bytes) -> tuple[str, bool]:
    """The text for people in an error body of any shape, and whether the body was JSON."""
    try:
        shape = orjson.loads(body)
    except orjson.JSONDecodeError:
        return body[: 4 * REASON_CHARS].decode(errors="replace"), False
    for _ in range(2):  # OpenAI nests the message once
        if isinstance(shape, dict):
            shape = shape.get("error") or shape.get("message") or shape.get("detail") or ""
    return (shape if isinstance(shape, str) else ""), True
