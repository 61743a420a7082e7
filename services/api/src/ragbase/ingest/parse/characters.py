"""Characters that get into extracted text by accident, and lines that would read as mark-up."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["literal", "printable"]

_ACCIDENTS: Final = re.compile(
    "[\x00-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f\xad\ud800-\udfff\ufffe\uffff]"
)
"""Controls, soft hyphens, lone surrogates, non-characters: layout and damage, never text."""
_MARKUP: Final = re.compile(
    r"(?:#{1,6}(?:\s|$)|```|~~~|<[a-zA-Z/!?]|=+\s*$|-+\s*$|(?:[-*_][ \t]*){3,}$)"
)


def printable(text: str) -> str:
    """``text`` without characters that no reader sees and Postgres may not store."""
    return _ACCIDENTS.sub("", text)


def literal(line: str) -> str:
    """A line of plain text so that Markdown reads it as text.

    Only what would change the blocks of the whole document is escaped (headings, fences, rules,
    HTML): a line that looks like a list item may well be one.
    """
    line = line.lstrip(" \t")
    return f"\\{line}" if _MARKUP.match(line) else line
