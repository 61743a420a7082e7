"""What stands before a chunk where it is indexed: title, metadata, breadcrumb, context."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

import regex

from ragbase.models.domain import Metadata

__all__ = ["HEADER_BUDGET", "indexed_content", "title_line"]

HEADER_BUDGET: Final = 60
"""Most estimated tokens of the title line, and as many again of the breadcrumb: together less than
half of what the smallest usual embedder takes (256)."""

_CHARACTERS_A_TOKEN: Final = 4
_WIDE: Final = regex.compile(r"[^\x00-\u024F]")
_VALUE_MAX: Final = 120
"""A longer text in the metadata is a text of its own, not a label of this one."""
_SHORTENED: Final = "…"


def title_line(title: str, metadata: Metadata, *, budget: int = HEADER_BUDGET) -> str:
    """``[<title> | <key>: <value> | …]``, in at most about ``budget`` tokens.

    Only scalar values, in the given order: strings as they are, numbers and booleans in JSON
    notation; objects, arrays and null are left out, and so are strings over 120 characters. Pairs
    that no longer fit are left out from the first on; a title that does not fit is shortened.
    """
    line = _shortened(_one_line(title), budget)
    for key, value in metadata.items():
        shown = _scalar(value)
        if shown is None:
            continue
        longer = f"{line} | {_one_line(key)}: {shown}"
        if _estimate(longer) > budget:
            break
        line = longer
    return f"[{line}]"


def indexed_content(title_line: str, breadcrumb: Iterable[str], context: str, content: str) -> str:
    """Title line, breadcrumb, context line and content, those there are, joined by single spaces.

    Of a breadcrumb that is too long the outer headings go first.
    """
    parts = (title_line, _breadcrumb_line(tuple(breadcrumb)), context, content)
    return " ".join(part for part in parts if part)


def _breadcrumb_line(breadcrumb: tuple[str, ...]) -> str:
    titles = [_one_line(title) for title in breadcrumb if title.strip()]
    while len(titles) > 1 and _estimate(" > ".join(titles)) > HEADER_BUDGET:
        del titles[0]
    return f"[{_shortened(' > '.join(titles), HEADER_BUDGET)}]" if titles else ""


def _scalar(value: Any) -> str | None:
    if isinstance(value, str):
        shown = _one_line(value)
        return shown if 0 < len(shown) <= _VALUE_MAX else None
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    return None


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _estimate(text: str) -> int:
    """About the tokens of a text: four Latin characters each, any other character one."""
    wide = len(_WIDE.findall(text))
    return wide + -(-(len(text) - wide) // _CHARACTERS_A_TOKEN)


def _shortened(text: str, budget: int) -> str:
    if _estimate(text) <= budget:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _estimate(text[:middle]) < budget else (low, middle - 1)
    return text[:low].rstrip() + _SHORTENED
