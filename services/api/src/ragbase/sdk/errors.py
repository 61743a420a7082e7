"""What the client raises.

SdkError
├── ApiError            the server answered with a 4xx or 5xx
└── ConnectionFailedError   no usable answer: refused, reset, timed out
"""

from __future__ import annotations

from typing import Any

__all__ = ["ApiError", "ConnectionFailedError", "SdkError", "TimedOutError"]


class SdkError(Exception):
    """Base of the client's errors; ``message`` can be shown to a person as it is."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class ConnectionFailedError(SdkError):
    """The server could not be reached, or the connection ended before an answer came."""


class TimedOutError(ConnectionFailedError):
    """The server did not answer within the time-out; it may still be at work."""


class ApiError(SdkError):
    """The server refused or failed.

    ``status`` is the HTTP status, ``code`` the stable snake_case code (``http_<status>`` where
    the answer has none), ``request_id`` finds the call in the server's log, ``retry_after`` is
    in seconds where the server gave it.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int,
        code: str,
        request_id: str | None = None,
        retry_after: float | None = None,
        detail: Any = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.request_id = request_id
        self.retry_after = retry_after
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.message} ({self.status} {self.code})"
