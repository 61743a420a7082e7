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

from ragbase.clients.server_role import EMBEDDING, ServerRole
from ragbase.clients.vectors import UnusableAnswerError
from ragbase.errors import EmbedderUnavailableError, UpstreamError

__all__ = [
    "Answer",
    "RefusedError",
    "TransientError",
    "checked",
    "json_of",
    "nothing",
    "retry_after",
]

TRANSIENT = frozenset({429, 500, 502, 503, 504})
"""Statuses of a server that may do better in a moment. 424 (TEI: the model itself failed) is not
among them."""
REASON_CHARS = 300

# The server's own text about a key may hold parts of it.
_KEY = {
    401: "It wants another key: see {0.key_setting}.",
    403: "Its key gives no right to this: see {0.key_setting}.",
}
# OpenAI answers 404 with a text for an unknown model.
_ROUTE = {
    404: "There is no such route: {0.url_setting} must be its base URL.",
    405: "There is no such route: {0.url_setting} must be its base URL.",
}
_REDIRECT = "It redirects; {0.url_setting} must be its final address."


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP answer of ``server``, read to its end (or to the bound of error texts)."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    server: ServerRole = EMBEDDING


class TransientError(EmbedderUnavailableError):
    """Worth a retry, after ``retry_after`` seconds where the server named a time.

    ``http_status`` is None where there was no answer, and then ``late`` where it was too late for
    one. Clients of other servers than embedders translate it at their edge.
    """

    def __init__(
        self,
        message: str,
        *,
        http_status: int | None = None,
        retry_after: float | None = None,
        late: bool = False,
    ) -> None:
        super().__init__(message)
        self.http_status = http_status
        self.retry_after = retry_after
        self.late = late


class RefusedError(UpstreamError):
    """The server understood and said no: the same request would be refused again."""

    def __init__(
        self,
        status: int,
        reason: str,
        *,
        structured: bool = False,
        server: ServerRole = EMBEDDING,
    ) -> None:
        super().__init__(f"The {server.what} refused with {status}. {reason}".rstrip())
        self.http_status = status
        self.reason = reason
        self.server = server
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
            f"The {answer.server.what} answered {answer.status}: {_phrase(answer.status)}.",
            http_status=answer.status,
            retry_after=retry_after(answer.headers),
        )
    server = answer.server
    if 300 <= answer.status < 400:
        raise RefusedError(answer.status, _REDIRECT.format(server), server=server)
    text, structured = _sentence(answer.body)
    if answer.status in _KEY or (answer.status in _ROUTE and not (structured and text)):
        reason = (_KEY.get(answer.status) or _ROUTE[answer.status]).format(server)
        raise RefusedError(answer.status, reason, server=server)
    if secret:
        text = text.replace(secret, "[key]")
    reason = " ".join(text.split())[:REASON_CHARS]
    raise RefusedError(answer.status, reason, structured=structured, server=server)


def json_of(answer: Answer) -> Any:
    """The body as JSON, else `UnusableAnswerError`. NaN is no JSON."""
    try:
        return orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        raise UnusableAnswerError(f"The {answer.server.what} sent broken JSON.") from None


def nothing(_: Answer) -> None:
    """For routes, such as ``/health``, that say all with their status."""


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
