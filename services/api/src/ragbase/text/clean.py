"""Text is cleaned once, at the door: what Postgres, JSON or UTF-8 cannot hold is refused by name."""

from __future__ import annotations

import math
import unicodedata
from typing import Any, Final

import regex

from ragbase.errors import InvalidInputError

__all__ = ["METADATA_DEPTH_MAX", "clean_metadata", "clean_text"]

METADATA_DEPTH_MAX: Final = 32
"""Deepest nesting of a metadata object; far below what any JSON reader or writer gives up on."""

_UNSTORABLE: Final = regex.compile(r"[\x00\uD800-\uDFFF]")
_INTEGERS: Final = range(-(2**63), 2**64)
"""What JSON writers and readers agree on."""


def clean_text(value: str, field: str) -> str:
    """``value`` in NFC. Raises `InvalidInputError` (``invalid_text``) for NUL and lone surrogates.

    ``field`` is the dotted path of the value in the request, named in the error.
    """
    found = _UNSTORABLE.search(value)
    if found is not None:
        what = "a NUL character" if found[0] == "\x00" else "a lone surrogate"
        raise InvalidInputError(
            f"{field} holds {what} (U+{ord(found[0]):04X}) at position {found.start()}",
            code="invalid_text",
            field=field,
        )
    return unicodedata.normalize("NFC", value)


def clean_metadata(metadata: dict[str, Any], field: str = "metadata") -> dict[str, Any]:
    """A copy with every key and string cleaned as by `clean_text`.

    Raises `InvalidInputError`, with the path of the value: ``invalid_text`` as `clean_text` does;
    ``invalid_metadata`` for what JSON cannot carry (NaN, infinities, integers beyond 64 bits, other
    types), for nesting deeper than `METADATA_DEPTH_MAX` and for keys that differ only in normal form.
    """
    return _clean_object(metadata, field, METADATA_DEPTH_MAX)


def _clean_object(value: dict[Any, Any], field: str, depth: int) -> dict[str, Any]:
    cleaned: dict[str, Any] = {}
    for key, item in value.items():
        if not isinstance(key, str):
            raise _refused(field, "keys must be strings")
        name = clean_text(key, f"{field} key")
        if name in cleaned:
            raise _refused(field, f"the key {name[:40]!r} appears twice")
        cleaned[name] = _clean_value(item, f"{field}.{name}", depth - 1)
    return cleaned


def _clean_value(value: Any, field: str, depth: int) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return clean_text(value, field)
    if isinstance(value, int | float):
        return _clean_number(value, field)
    if depth <= 0:
        raise _refused(field, f"nested deeper than {METADATA_DEPTH_MAX} levels")
    if isinstance(value, dict):
        return _clean_object(value, field, depth)
    if isinstance(value, list | tuple):
        return [_clean_value(item, f"{field}.{i}", depth - 1) for i, item in enumerate(value)]
    raise _refused(field, f"{type(value).__name__} is not a JSON value")


def _clean_number(value: float, field: str) -> float:
    if isinstance(value, int):
        if value not in _INTEGERS:
            raise _refused(field, "integers go up to 64 bits")
    elif not math.isfinite(value):
        raise _refused(field, "NaN and infinities are not JSON")
    return value


def _refused(field: str, reason: str) -> InvalidInputError:
    return InvalidInputError(f"{field}: {reason}", code="invalid_metadata", field=field)
