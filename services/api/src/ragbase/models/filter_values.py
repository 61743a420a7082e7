"""Checks and cleans what a filter compares with: JSON that can be stored, and instants.

Strings are put in NFC, as metadata is when it is stored, so that equal texts compare equal.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from ragbase.errors import InvalidInputError

__all__ = ["clean_value", "invalid_filter", "read_instant"]

VALUE_DEPTH_MAX = 32
NUMBER_MAX = 1.7976931348623157e308
"""Largest double; JSON numbers beyond it are read as infinity by most writers of metadata."""


def invalid_filter(message: str, path: str) -> InvalidInputError:
    return InvalidInputError(f"{path}: {message}", code="invalid_filter", field=path)


def read_instant(text: str, path: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text.strip())
        zoned = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return zoned.astimezone(UTC)
    except (ValueError, OverflowError):
        raise invalid_filter(
            "@created_at takes ISO 8601 dates and times, such as 2024-05-01 or "
            "2024-05-01T12:00:00Z",
            path,
        ) from None


def clean_value(value: Any, path: str, depth: int = 0) -> Any:
    """The value with strings in NFC, as metadata is stored; refuses what JSONB cannot hold."""
    if isinstance(value, str):
        return _clean_text(value, path)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return _clean_number(value, path)
    if depth >= VALUE_DEPTH_MAX:
        raise invalid_filter(f"values may be nested {VALUE_DEPTH_MAX} deep", path)
    if isinstance(value, list | tuple):
        return [clean_value(item, path, depth + 1) for item in value]
    if isinstance(value, Mapping):
        return {
            clean_value(str(key), path): clean_value(item, path, depth + 1)
            for key, item in value.items()
        }
    raise invalid_filter("values must be JSON", path)


def _clean_text(value: str, path: str) -> str:
    if "\x00" in value:
        raise invalid_filter("remove the NUL character (U+0000)", path)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise invalid_filter("remove the lone surrogate (half of a UTF-16 pair)", path) from None
    return unicodedata.normalize("NFC", value)


def _clean_number(value: float, path: str) -> float:
    if (isinstance(value, float) and not math.isfinite(value)) or abs(value) > NUMBER_MAX:
        raise invalid_filter("numbers must be finite and within ±1.8e308", path)
    return value
