"""A title for a file: what its author called it."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Final

__all__ = ["TITLE_CHARS", "sensible_title", "stem"]

TITLE_CHARS: Final = 500

_NO_TITLE: Final = re.compile(
    r"(?:untitled|unknown|title|document|no title|слайд|microsoft (?:word|powerpoint|excel))\b.{0,3}"
    r"|(?:microsoft (?:word|powerpoint|excel) - ).*"
    r"|\S+\.(?:docx?|dotx?|pptx?|xlsx?|indd|qxd|tex|dvi|ps|eps|pdf|rtf|odt|pub|p65|html?)",
    re.IGNORECASE,
)
"""What programs write into the title field by themselves."""


def stem(name: str) -> str:
    """The name of a file without folders and ending."""
    return PurePosixPath(name).stem or name


def sensible_title(title: object) -> str:
    """A title from a document's properties in one line; empty where it says nothing."""
    found = " ".join(title.split())[:TITLE_CHARS].strip() if isinstance(title, str) else ""
    return "" if _NO_TITLE.fullmatch(found) else found
