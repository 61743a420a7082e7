"""Where a long stretch of text may be cut, from the best places to the last resort."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import Final

import numpy as np
import regex

from ragbase.ingest.split_ruler import Positions
from ragbase.text.clusters import CLUSTER, has_clusters

__all__ = ["Cut", "bounds", "cluster_floor"]


class Cut(IntEnum):
    """What stands before a place where a piece may start; lower cuts less."""

    SECTION = 0
    BLOCK = 1
    ITEM = 2
    PARAGRAPH = 3
    LINE = 4
    SENTENCE = 5
    CLAUSE = 6
    WORD = 7
    CLUSTER = 8
    POINT = 9


_SENTENCE_END: Final = regex.compile(
    r"""(?x)
    [.!?…‽؟۔।॥]++ [\p{Pe}\p{Pf}"'*_`]*+ \s++ (?=\S)
    | [。！？｡‼⁇]++ [\p{Pe}\p{Pf}]*+ \s*+ (?=\S)
    | (?:\r\n?|\n)[ \t]*+(?:\r\n?|\n)\s*+
    """
)
_ABBREVIATION: Final = regex.compile(
    r"(?<![\p{L}\p{N}])(?:\p{L}|\p{L}\.\p{L}|mr|mrs|ms|dr|prof|st|vs|etc|cf|al|no|nos|fig|figs|eq|eqs"
    r"|sec|vol|pp?|ed|eds|jr|sr|approx|dept|est|bzw|ca|usw|nr|abb|vgl)$",
    regex.IGNORECASE,
)
_ABBREVIATION_REACH: Final = 8
_WRAPPED_MAX: Final = 120
"""Mean length of lines up to which they are taken for lines of a page."""
_LINE_TAIL: Final = 8
_PARAGRAPH_END: Final = regex.compile(r"""[.!?…:。！？：｡][\p{Pe}\p{Pf}"'*_`]*+\s*+$""")
_CLUSTER_REACH: Final = 64
_PATTERNS: Final = {
    Cut.ITEM: regex.compile(r"(?:\r\n?|\n)(?:[ \t\f\v]*+(?:\r\n?|\n))++"),
    Cut.LINE: regex.compile(r"(?:\r\n?|\n)(?:[ \t\f\v]*+(?:\r\n?|\n))*+"),
    Cut.CLAUSE: regex.compile(r"[,;:]\s++|[—–]\s*+|[，、；：､]|\p{Pe}\s++"),
    Cut.WORD: regex.compile(r"(?<=\S)\s++(?=\S)"),
    Cut.CLUSTER: CLUSTER,
}


def bounds(text: str, start: int, end: int, cut: Cut) -> Positions:
    """Places inside ``text[start:end]`` where a piece may start, with both ends, growing."""
    found = np.fromiter(_inside(text, start, end, cut), dtype=np.int64)
    inner = found[(found > start) & (found < end)]
    return np.concatenate(([start], inner, [end]))


def _inside(text: str, start: int, end: int, cut: Cut) -> Iterator[int]:
    if cut is Cut.POINT or (cut is Cut.CLUSTER and not has_clusters(text, start, end)):
        return iter(range(start + 1, end))
    if cut is Cut.SENTENCE:
        return _sentences(text, start, end)
    if cut is Cut.PARAGRAPH:
        return _paragraphs(text, start, end)
    return (match.end() for match in _PATTERNS[cut].finditer(text, start, end))


def _paragraphs(text: str, start: int, end: int) -> Iterator[int]:
    """Lines that are paragraphs: all where lines are long, else those after the end of a sentence.

    Many texts have one line a paragraph and no blank lines; others break lines anywhere.
    """
    lines = list(_PATTERNS[Cut.LINE].finditer(text, start, end))
    wrapped = (end - start) <= _WRAPPED_MAX * (len(lines) + 1)
    for line in lines:
        before = text[max(start, line.start() - _LINE_TAIL) : line.start()]
        if not wrapped or _PARAGRAPH_END.search(before):
            yield line.end()


def _sentences(text: str, start: int, end: int) -> Iterator[int]:
    """Sentence starts; a full stop after an abbreviation or an initial ends nothing."""
    for match in _SENTENCE_END.finditer(text, start, end):
        stop = match.start()
        if text[stop] == "." and text[stop + 1] != ".":
            reach = max(start, stop - _ABBREVIATION_REACH)
            if _ABBREVIATION.search(text, reach, stop):
                continue
        yield match.end()


def cluster_floor(text: str, position: int) -> int:
    """The start of the grapheme cluster that ``position`` lies in; itself between clusters.

    A cluster of more than some dozen code points is no cluster that anybody reads, and is cut.
    """
    if not 0 < position < len(text) or text[position - 1].isspace() or text[position].isspace():
        return position
    reach = max(0, position - _CLUSTER_REACH)
    for match in _PATTERNS[Cut.CLUSTER].finditer(text, reach, min(len(text), position + 1)):
        if match.start() <= position < match.end():
            return match.start() if match.start() > reach else position
    return position
