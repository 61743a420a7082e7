"""One spelling for each entity name, so that mentions of one thing meet under one row."""

from __future__ import annotations

import unicodedata
from typing import Final

import regex

from ragbase.text.fold import fold

__all__ = ["NAME_MAX", "display_name", "normalise"]

NAME_MAX: Final = 256
"""Most characters of an entity's name; what is longer is a sentence."""

_UNSTORABLE: Final = regex.compile(r"[\x00\uD800-\uDFFF]")
_ARTICLE: Final = regex.compile(r"\s*(?:the|an?)\s+(?=\w)")
_POSSESSIVE: Final = regex.compile(r"(?<=\w)['\u2019\u02BC\u2018]s\b")
# "C++", "C#", "F#" and "C" are four things: there the sign is part of the word.
_PUNCTUATION: Final = regex.compile(r"(?V1)(?<![\p{L}\p{N}][+#]*)[+#]|[[\p{P}\p{S}\p{C}]--[+#]]")
_EDGES: Final = regex.compile(r"^[\s\"'\u2018-\u201F«»*_`|,;:]+|[\s\"'\u2018-\u201F«»*_`|,;:]+$")
_BRACKETS: Final = {"(": ")", "[": "]", "{": "}"}


def normalise(name: str) -> str:
    """The form by which names are compared: NFKC, case folded, without a leading English article,
    possessive ``'s``, punctuation, NUL and doubled blanks.

    Empty for a name that consists of nothing else. A whole query may be given too: its words are
    then those that names consist of, in order.
    """
    clean = unicodedata.normalize("NFKC", _UNSTORABLE.sub("", name))
    folded = _POSSESSIVE.sub("", fold(clean))
    without_article = _ARTICLE.sub("", folded, 1) if _ARTICLE.match(folded) else folded
    return " ".join(_PUNCTUATION.sub(" ", without_article).split())


def display_name(name: str) -> str:
    """The name as people read it: NFC, one line, without NUL, quotes and stray punctuation around."""
    clean = unicodedata.normalize("NFC", _UNSTORABLE.sub("", name))
    shown = " ".join(clean.split())
    while (barer := _without_stray_brackets(_EDGES.sub("", shown))) != shown:
        shown = barer
    return shown


def _without_stray_brackets(name: str) -> str:
    """One step nearer to ``name`` without brackets around it, or at an edge without a partner."""
    for opening, closing in _BRACKETS.items():
        if name.startswith(opening) and name.find(closing) in (-1, len(name) - 1):
            return name[1:].removesuffix(closing)
        if name.startswith(closing):
            return name[1:]
        if name.endswith(opening) or (name.endswith(closing) and opening not in name):
            return name[:-1]
    return name
