"""Where words begin and end in a text, and the parts of a written compound.

A segment is a run of a script without spaces, an emoji, or a word together with what people write
into words: ``state-of-the-art``, ``O'Neill``, ``a.bcd``, ``1.10``, ``R&D``, ``C++``, ``C#``,
``.NET``, ``snake_case``. Segments follow Unicode's word boundaries (UAX 29) but for these
additions. All patterns run over text in NFKC and take time linear in its length.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import regex

from ragbase.text.clusters import CLUSTER, has_clusters

__all__ = [
    "SEGMENT",
    "Part",
    "compound_parts",
    "grams",
    "hump_parts",
    "is_plain_run",
    "is_unspaced",
    "plain_grams",
]

Part = tuple[str, int, int]
"""A piece of a segment with its start and end (code points) inside the segment."""

_UNSPACED_SCRIPTS: Final = (
    r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Bopomofo}\u30FC"
    r"\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
)
_SOFT: Final = r"\u00AD\u200C\u200D\u2060\uFEFF"
_LETTER: Final = rf"[[\p{{L}}\p{{N}}]--[{_UNSPACED_SCRIPTS}]]"
_WORD: Final = (
    rf"[[\p{{L}}\p{{N}}_]--[{_UNSPACED_SCRIPTS}]]"
    rf"[[\p{{L}}\p{{N}}\p{{M}}_{_SOFT}]--[{_UNSPACED_SCRIPTS}]]*+"
)
_EMOJI: Final = (
    r"(?:[\U0001F1E6-\U0001F1FF]{2}"
    r"|\p{Extended_Pictographic}[\uFE0F\U0001F3FB-\U0001F3FF]*+"
    r"(?:\u200D\p{Extended_Pictographic}[\uFE0F\U0001F3FB-\U0001F3FF]*+)*+)"
)

SEGMENT: Final = regex.compile(
    rf"""(?xV1)
    [{_UNSPACED_SCRIPTS}][{_UNSPACED_SCRIPTS}\p{{M}}{_SOFT}]*+
    | (?:(?<![\w.])\.(?=\p{{L}}))?                                     # .NET
      (?:[0-9]{{1,3}}(?:,[0-9]{{3}})++(?![0-9]) | {_WORD})
      (?:['’.&·‐-](?={_LETTER}){_WORD}){{0,15}}+
      (?:\+\+(?![+\p{{L}}]) | \#(?![\w\#]))?+                          # C++, C#
    | {_EMOJI}
    """
)
"""Matches segments, in order, in NFKC text; no match is empty or holds white space."""

_UNSPACED: Final = regex.compile(rf"[{_UNSPACED_SCRIPTS}]")
_SIGNIFICANT_ALONE: Final = regex.compile(r"[\p{Han}\p{Hangul}]")
_PLAIN_RUN: Final = regex.compile(
    r"[\u3005-\u3007\u3041-\u3096\u30A1-\u30FA\u30FC\u3400-\u4DBF\u4E00-\u9FFF\uAC00-\uD7A3]++"
)
_PART: Final = regex.compile(
    r"[0-9]+(?:[.,][0-9]+)+(?![^'’.&·‐_-])"  # a number stays whole
    r"|(?:^\.)?[^'’.&·‐_,+#-]+(?:\+\+|\#)?"
)
_HUMP: Final = regex.compile(r"(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})")
_HUMP_MIN: Final = 3
_HUMPED_MAX: Final = 64


def is_unspaced(segment: str) -> bool:
    """Whether the segment is a run of a script that is written without spaces between words."""
    return segment[0] >= "\u0e00" and _UNSPACED.match(segment) is not None


def grams(run: str) -> Iterator[tuple[str, int, int, bool]]:
    """Overlapping pairs of characters (grapheme clusters), and single characters beside them.

    The last field tells the pairs (True), which queries use, from the singles (False), which only
    answer queries of one character; a run of one is its own pair. Singles of kana and of the
    scripts of South-East Asia say nothing and are left out.
    """
    bounds = _cluster_bounds(run)
    last = len(bounds) - 2
    for i in range(last):
        yield run[bounds[i] : bounds[i + 2]], bounds[i], bounds[i + 2], True
    for i in range(last + 1):
        start, end = bounds[i], bounds[i + 1]
        if last == 0 or _SIGNIFICANT_ALONE.match(run, start):
            yield run[start:end], start, end, last == 0


def is_plain_run(segment: str) -> bool:
    """Whether every code point of an unspaced run is a character of its own that folds to itself."""
    return segment[0] >= "\u3005" and _PLAIN_RUN.fullmatch(segment) is not None


def plain_grams(run: str) -> tuple[str, ...]:
    """The texts `grams` gives for a plain run, several times faster."""
    if len(run) == 1:
        return (run,)
    return (*map("".join, pairwise(run)), *_SIGNIFICANT_ALONE.findall(run))


def _cluster_bounds(run: str) -> list[int]:
    if not has_clusters(run):
        return list(range(len(run) + 1))
    return [0, *(match.end() for match in CLUSTER.finditer(run))]


def compound_parts(segment: str) -> list[Part]:
    """The words inside a compound, with a leading dot or closing ``++`` or ``#`` that belongs."""
    return [(match[0], match.start(), match.end()) for match in _PART.finditer(segment)]


def hump_parts(word: str) -> list[Part]:
    """The parts of a CamelCase word that have three letters or more; none for a plain word."""
    if word.islower() or word.isupper() or len(word) > _HUMPED_MAX:
        return []
    cuts = [0, *(match.start() for match in _HUMP.finditer(word)), len(word)]
    if len(cuts) == 2:
        return []
    return [(word[a:b], a, b) for a, b in pairwise(cuts) if b - a >= _HUMP_MIN]
