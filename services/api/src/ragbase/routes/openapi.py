"""Error answers as the OpenAPI document shows them."""

from __future__ import annotations

from typing import Any

from ragbase.routes.errors import ErrorBody

__all__ = ["CONFLICT", "NOT_FOUND", "TOO_LARGE", "UNAVAILABLE", "UPSTREAM"]

Responses = dict[int | str, dict[str, Any]]


def _error(status: int, description: str) -> Responses:
    return {status: {"model": ErrorBody, "description": description}}


NOT_FOUND = _error(404, "It does not exist.")
CONFLICT = _error(409, "It contradicts what is stored.")
TOO_LARGE = _error(413, "Larger than a limit; the text names the limit.")
UPSTREAM = _error(502, "The model server gave an unusable answer.")
UNAVAILABLE: Responses = {
    **_error(429, "Too many requests in flight; see `Retry-After`."),
    **UPSTREAM,
    **_error(503, "A dependency is down; try again later."),
}
