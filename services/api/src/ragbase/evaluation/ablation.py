"""The same corpus without its headings: what the heading path is worth.

Only the lines that are ATX headings go; body, titles and ids stay, so any difference in rank
comes from the headings alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from ragbase.evaluation.dataset import JudgedDocument

__all__ = ["HEADER_FAMILY", "strip_headings", "without_headings"]

HEADER_FAMILY = "header-path"
"""Queries whose decisive word stands in a heading and nowhere else."""

_HEADING = re.compile(r"^ {0,3}#{1,6}(?:[ \t].*)?$\n*", re.MULTILINE)
_FENCE = re.compile(
    r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)


def strip_headings(text: str) -> str:
    """``text`` without ATX heading lines; fenced code is left as it is."""
    parts: list[str] = []
    start = 0
    for fence in _FENCE.finditer(text):
        parts += [_HEADING.sub("", text[start : fence.start()]), fence[0]]
        start = fence.end()
    return "".join([*parts, _HEADING.sub("", text[start:])]).strip()


def without_headings(documents: Iterable[JudgedDocument]) -> tuple[JudgedDocument, ...]:
    """The documents with their headings taken out; one that is all headings stays as it is."""
    return tuple(
        replace(document, text=strip_headings(document.text) or document.text)
        for document in documents
    )
