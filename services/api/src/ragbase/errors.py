"""Every error that RagBase raises on purpose, and the HTTP status each becomes.

    RagBaseError
    ├── InvalidInputError        422  the caller can mend the request
    │   ├── TooLargeError        413  … by making it smaller
    │   ├── LlmInputTooLongError      … by asking the language model about less
    │   └── UnsupportedMediaTypeError 415  … by sending another kind of file
    ├── ContradictoryError       400  the request contradicts itself
    ├── UnauthenticatedError     401  no key, or one that is not valid
    ├── ForbiddenError           403  the key may not do this
    ├── NotFoundError            404
    ├── ConflictError            409
    ├── OverloadedError          429  the caller should wait ``retry_after`` seconds
    ├── UnavailableError         503  a dependency is down; it may heal by itself
    │   ├── DatabaseUnavailableError
    │   ├── EmbedderUnavailableError
    │   ├── RerankerUnavailableError
    │   ├── LlmUnavailableError
    │   └── DeadlineExceededError
    ├── UpstreamError            502  a dependency answered with something unusable
    ├── BackupError              –    a backup or a restore did not come to its end
    └── ConfigurationError       –    refuses the start; a person must act

``code`` is snake_case and stable; ``message`` says what to do and holds no internals.
"""

from __future__ import annotations

__all__ = [
    "BackupError",
    "ConfigurationError",
    "ConflictError",
    "ContradictoryError",
    "DatabaseUnavailableError",
    "DeadlineExceededError",
    "EmbedderUnavailableError",
    "ForbiddenError",
    "InvalidInputError",
    "LlmInputTooLongError",
    "LlmUnavailableError",
    "NotFoundError",
    "OverloadedError",
    "RagBaseError",
    "RerankerUnavailableError",
    "TooLargeError",
    "UnauthenticatedError",
    "UnavailableError",
    "UnsupportedMediaTypeError",
    "UpstreamError",
]


class RagBaseError(Exception):
    """Base of all errors raised on purpose; ``status`` is the HTTP status it becomes."""

    status = 500
    code = "internal_error"

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code


class InvalidInputError(RagBaseError):
    """The request is wrong; ``field`` is the dotted path of what to change, where known."""

    status = 422
    code = "invalid_input"

    def __init__(self, message: str, *, code: str | None = None, field: str | None = None) -> None:
        super().__init__(message, code=code)
        self.field = field


class TooLargeError(InvalidInputError):
    """A limit on size was passed; the message names the limit."""

    status = 413
    code = "too_large"


class LlmInputTooLongError(InvalidInputError):
    """The prompt does not fit the language model, or its server's body limit."""

    code = "llm_input_too_long"


class ContradictoryError(RagBaseError):
    """The request contradicts itself, whatever is stored."""

    status = 400
    code = "bad_request"


class UnauthenticatedError(RagBaseError):
    """No key was given, or none that is valid: ``missing_key``, ``invalid_key``, ``expired_key``."""

    status = 401
    code = "missing_key"


class ForbiddenError(RagBaseError):
    """The caller is known and may not do this."""

    status = 403
    code = "scope_missing"


class UnsupportedMediaTypeError(InvalidInputError):
    """A body or file of a kind that is not taken; the message names the kinds that are."""

    status = 415
    code = "unsupported_media_type"


class NotFoundError(RagBaseError):
    """What was asked for does not exist (or may not be seen)."""

    status = 404
    code = "not_found"


class ConflictError(RagBaseError):
    """The request contradicts what is stored."""

    status = 409
    code = "conflict"


class OverloadedError(RagBaseError):
    """Too much at once; try again after ``retry_after`` seconds."""

    status = 429
    code = "overloaded"

    def __init__(self, message: str, *, retry_after: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class UnavailableError(RagBaseError):
    """A dependency is down or too slow; the same request may work later."""

    status = 503
    code = "unavailable"


class DatabaseUnavailableError(UnavailableError):
    """Postgres refuses connections or lost one."""

    code = "database_unavailable"


class EmbedderUnavailableError(UnavailableError):
    """The embedding model or its server cannot be reached."""

    code = "embedder_unavailable"


class RerankerUnavailableError(UnavailableError):
    """A reranker cannot be reached, is not there yet, or is not asked because it keeps failing.

    ``http_status`` is what its server answered, where it answered.
    """

    code = "reranker_unavailable"

    def __init__(
        self, message: str, *, code: str | None = None, http_status: int | None = None
    ) -> None:
        super().__init__(message, code=code)
        self.http_status = http_status


class LlmUnavailableError(UnavailableError):
    """The language model is away, overloaded, limits our rate, or is not asked as it keeps failing.

    ``http_status`` is what its server answered, where it answered; ``retry_after`` the seconds it
    asked us to stay away, or 0.
    """

    code = "llm_unavailable"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        http_status: int | None = None,
        retry_after: float = 0.0,
    ) -> None:
        super().__init__(message, code=code)
        self.http_status = http_status
        self.retry_after = retry_after


class DeadlineExceededError(UnavailableError):
    """A step passed its time budget."""

    code = "timeout"


class UpstreamError(RagBaseError):
    """A dependency answered with something that cannot be used (wrong count, NaN, bad shape)."""

    status = 502
    code = "upstream_error"


class BackupError(RagBaseError):
    """A backup cannot be made, or one that exists cannot be used; nothing half is left."""

    code = "backup_failed"


class ConfigurationError(RagBaseError):
    """The settings, or settings and data together, cannot work: the start is refused."""

    code = "configuration_error"
