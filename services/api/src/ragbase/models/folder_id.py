"""Folders of the second API's files: texts of at most 32 characters, as its contract's column holds."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["FOLDER_CHARS", "folder_text"]

FOLDER_CHARS: Final = 32
_LARGEST = 2**53 - 1
"""Whole numbers beyond it are others once JavaScript has read them."""


def folder_text(value: Any) -> Any:
    """A whole number as the text that the original's database made of it; all else as it is."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    whole = isinstance(value, int) or value.is_integer()
    return str(int(value)) if whole and abs(value) <= _LARGEST else value
