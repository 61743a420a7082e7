"""Pages of a PDF as Markdown: words mended across lines, headings where the outline has them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from ragbase.ingest.parse.characters import literal

__all__ = ["Outline", "page_markdown", "with_words_mended"]

Outline: TypeAlias = Mapping[str, int]
"""Levels of headings, from 1, by title."""

_BROKEN: Final = re.compile(r"([^\W\d_]+)(?:[\ufffe\x02]|[-\u2010\xad]\n)(?=([^\W\d_]+))")
"""A word cut at the end of a line. PDFium marks most of them and joins the lines."""
_MARK: Final = re.compile("[\ufffe\x02]")
_WORD: Final = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_NUMBERING: Final = re.compile(r"^(?:[\dA-Z]{1,3}(?:\.\d{1,3})*[.):]?|[IVXLC]{1,6}[.)])\s+")


def with_words_mended(pages: Sequence[str]) -> list[str]:
    """Words that hyphens cut at line ends made whole, judged by the document's other words.

    ``exam-ple`` becomes one word; a hyphen stays where the document writes it elsewhere, where both
    parts are words of their own and the whole is none, and before a capital.
    """
    known: Counter[str] = Counter()
    for page in pages:
        known.update(word.lower() for word in _WORD.findall(_BROKEN.sub(" ", page)))

    def mended(found: re.Match[str]) -> str:
        return found[1] if _is_one_word(found[1], found[2], known) else f"{found[1]}-"

    return [_MARK.sub("-", _BROKEN.sub(mended, page)) for page in pages]


def _is_one_word(first: str, second: str, known: Mapping[str, int]) -> bool:
    if not second[0].islower() or first.isupper():
        return False
    first, second = first.lower(), second.lower()
    if known.get(first + second):
        return True
    if known.get(f"{first}-{second}"):
        return False
    return not (known.get(first) and known.get(second))


def page_markdown(page: str, outline: Outline) -> str:
    """A page's lines; those that are a title of the outline are headings, nothing else is."""
    levels = {_key(title): level for title, level in outline.items() if _key(title)}
    return "\n".join(_line(line, levels) for line in page.splitlines()).strip()


def _line(line: str, levels: dict[str, int]) -> str:
    level = levels.pop(_key(line), None)  # the first of two equal lines
    if level is None:
        return literal(line)
    return f"\n{'#' * min(level, 6)} {' '.join(line.split())}\n"


def _key(title: str) -> str:
    """A title without its number: outlines carry it or not, whatever the page shows."""
    return "".join(_NUMBERING.sub("", title.strip()).casefold().split())
