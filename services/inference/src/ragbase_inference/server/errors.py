"""Errors as they go on the wire, in the shapes of text-embeddings-inference.

Two shapes of JSON, by route, and two without: a body that cannot be read or parsed is answered in
plain text, and 401, 404 and 405 have no body at all. Clients look at the status first.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal, TypeAlias

import orjson
from starlette.responses import Response

from ragbase_inference.errors import (
    ClosedError,
    InferenceError,
    ModelFailedError,
    ModelUnavailableError,
    QueueFullError,
    TextTooLongError,
)
from ragbase_inference.serving.running import WrongKindError

__all__ = ["ApiError", "ErrorType", "Reason", "RejectedError", "Shape", "api_error", "empty_error"]


class ErrorType(StrEnum):
    """TEI's types; each has one status."""

    VALIDATION = "Validation"
    EMPTY = "Empty"
    TOKENIZER = "Tokenizer"
    BACKEND = "Backend"
    OVERLOADED = "Overloaded"
    UNHEALTHY = "Unhealthy"


STATUS: Mapping[ErrorType, int] = {
    ErrorType.EMPTY: 400,
    ErrorType.VALIDATION: 422,
    ErrorType.TOKENIZER: 422,
    ErrorType.BACKEND: 424,
    ErrorType.OVERLOADED: 429,
    ErrorType.UNHEALTHY: 503,
}

Reason: TypeAlias = Literal[
    "validation", "batch_size", "tokenization", "model_type", "overloaded", "inference", "unhealthy"
]
"""Label of the metric that counts failures."""
Shape: TypeAlias = Literal["native", "flat"]
"""``native``: ``{"error", "error_type"}``; ``flat``: ``{"message", "code", "type"}`` (``/v1``)."""

_WRONG_KIND = {
    "embedding": "Model is not an embedding model",
    "reranker": "model is not a re-ranker model",
    "classifier": "Model is not a classifier model",
    "ner": "Model is not a named entity recognition model",
}


class ApiError(Exception):
    """A request that was read and cannot be answered."""

    def __init__(self, kind: ErrorType, message: str, reason: Reason) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.reason = reason

    @property
    def status(self) -> int:
        """The HTTP status."""
        return STATUS[self.kind]

    def response(self, shape: Shape) -> Response:
        """The answer."""
        if shape == "native":
            body: dict[str, object] = {"error": self.message, "error_type": self.kind}
        else:
            body = {"message": self.message, "code": self.status, "type": self.kind}
        return Response(orjson.dumps(body), self.status, media_type="application/json")


class RejectedError(Exception):
    """A body that was not read or not understood; answered in plain text."""

    def __init__(self, status: int, text: str, *, unread: bool = False) -> None:
        """``unread``: bytes are left on the connection, which cannot be used again."""
        super().__init__(text)
        self.status = status
        self.text = text
        self.unread = unread

    def response(self) -> Response:
        """The answer."""
        headers = {"connection": "close"} if self.unread else None
        return Response(self.text, self.status, headers, media_type="text/plain")


def empty_error(field: str, reason: Reason = "validation", *, prefix: str = "") -> ApiError:
    """The answer to a call without inputs."""
    return ApiError(ErrorType.EMPTY, f"{prefix}`{field}` cannot be empty", reason)


def api_error(error: InferenceError) -> ApiError:
    """What goes on the wire for an error of the models."""
    match error:
        case TextTooLongError():
            return ApiError(
                ErrorType.VALIDATION,
                f"Input validation error: `inputs` must have less than {error.limit} tokens. "
                f"Given: {error.tokens}",
                "tokenization",
            )
        case QueueFullError():
            return ApiError(ErrorType.OVERLOADED, "Model is overloaded", "overloaded")
        case WrongKindError():
            text = f"Backend error: {_WRONG_KIND[error.wanted]}"
            return ApiError(ErrorType.BACKEND, text, "model_type")
        case ModelFailedError():
            return ApiError(ErrorType.BACKEND, f"Backend error: {error}", "inference")
        case ModelUnavailableError():
            return ApiError(ErrorType.UNHEALTHY, f"The model is unavailable: {error}", "unhealthy")
        case ClosedError():
            return ApiError(ErrorType.UNHEALTHY, "The server is shutting down", "unhealthy")
        case _:
            return ApiError(ErrorType.BACKEND, f"Backend error: {error}", "inference")
