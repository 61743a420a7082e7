"""Normal forms: what makes two spellings of a word one term, and where it stood in the original."""

from __future__ import annotations

import unicodedata
from typing import Final

import regex

from ragbase.text.clusters import CLUSTER

__all__ = ["compatibility_form", "compatibility_map", "fold", "strip_accents"]

_NOT_ASCII_DIGIT: Final = regex.compile(r"(?V1)[\p{Nd}--0-9]")
_SILENT: Final = regex.compile(
    r"[\p{Cf}\u034F\u0640\u064B-\u065F\u0670\u20E3\uFE00-\uFE0F\U0001F3FB-\U0001F3FF]"
)
"""No part of a word's identity: soft hyphen, joiners, variation selectors, key caps, skin tones;
tatweel and Arabic short vowels."""
_ACCENT: Final = regex.compile(r"(?<=[\p{Latin}\p{Greek}]\p{M}*)\p{Mn}")
_CYRILLIC_IO: Final = str.maketrans("ё", "е")


def compatibility_form(text: str) -> str:
    """NFKC, which unifies composed, decomposed, full-width and ligature spellings."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def compatibility_map(text: str) -> tuple[str, list[int], list[int]]:
    """NFKC of ``text``, and for each of its code points where it starts and ends in ``text``.

    Works grapheme cluster by cluster, because normalisation does not reach over their borders.
    """
    parts: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for match in CLUSTER.finditer(text):
        start, end = match.span()
        part = unicodedata.normalize("NFKC", match[0])
        same = part == match[0]
        starts.extend(range(start, end) if same else [start] * len(part))
        ends.extend(range(start + 1, end + 1) if same else [end] * len(part))
        parts.append(part)
    return "".join(parts), starts, ends


def fold(word: str) -> str:
    """Case folding, without invisible characters and with ASCII digits; still NFKC."""
    if word.isascii():
        return word.lower()
    folded = _SILENT.sub("", unicodedata.normalize("NFKC", word.casefold()))
    # Digits younger than Python's own tables stay as they are.
    ascii_digits: str = _NOT_ASCII_DIGIT.sub(lambda m: str(unicodedata.digit(m[0], m[0])), folded)
    return ascii_digits


def strip_accents(word: str) -> str:
    """Without the accents of Latin and Greek letters, which people leave out when they search.

    Run after stemming: the stemmers need them. Marks of other scripts are letters and stay.
    """
    if word.isascii():
        return word
    decomposed = unicodedata.normalize("NFD", word)
    return unicodedata.normalize("NFC", _ACCENT.sub("", decomposed)).translate(_CYRILLIC_IO)
