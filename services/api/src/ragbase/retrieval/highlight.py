"""Finds the places in a page's contents that match the query's terms.

Same result as analysing each content whole, at a small part of the cost: where the runs between
white space stand and which terms they have is known of what was read before
(`ragbase.retrieval.vocabulary`), and looked up for all contents at once. In long runs, pairs of plain
characters are looked up as they are, and what stands between them is analysed without its
neighbours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np

from ragbase.retrieval.vocabulary import Reading, Vocabulary, vocabulary
from ragbase.text.analyse import Analyser, Token

__all__ = ["HIGHLIGHTS_MAX", "Span", "highlights"]

Span = tuple[int, int]
"""Start and end, code points, end exclusive."""

HIGHLIGHTS_MAX: Final = 100
"""Most spans of a content: the first ones."""

# Characters of scripts without spaces that fold to themselves: two in a row are a term.
_PLAIN: Final = (
    "\u3005-\u3007\u3041-\u3096\u30a1-\u30fa\u30fc\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
)
_PIECE: Final = re.compile(f"[{_PLAIN}]+|[^{_PLAIN}]+")
_PLAIN_TERM: Final = re.compile(f"[{_PLAIN}]{{1,2}}")


def highlights(
    contents: Sequence[str], query_terms: Iterable[str], analyser: Analyser
) -> list[list[Span]]:
    """For each content, its spans whose terms are among ``query_terms``.

    Spans are in order, disjoint, not touching, and at most `HIGHLIGHTS_MAX`. ``query_terms`` must
    come from the same analyser.
    """
    wanted = frozenset(query_terms)
    if not wanted or not contents:
        return [[] for _ in contents]
    known = vocabulary(analyser.language)
    known.make_room()
    readings = [known.read(content) for content in contents]
    short_runs, long_runs = _ShortRuns(known, wanted), _LongRuns(known, wanted)
    placed = iter(short_runs.placed([r for r in readings if isinstance(r, Reading)]))
    spans = []
    for content, reading in zip(contents, readings, strict=True):
        if not isinstance(reading, Reading):
            found = short_runs.searched(content, reading)
        else:
            found = next(placed)
            for start, end in reading.long:
                found += _merged(long_runs.spans(content[start:end], start))
        spans.append(sorted(found)[:HIGHLIGHTS_MAX])
    return spans


class _ShortRuns:
    """Marks known runs. Those of two runs never touch, as white space is between them."""

    def __init__(self, known: Vocabulary, wanted: frozenset[str]) -> None:
        self._known = known
        self._wanted = wanted
        self._having = known.having(wanted)
        self._runs = {known.run(number) for number in self._having}
        self._matches: dict[str, list[Span]] = {}

    def searched(self, content: str, runs: Sequence[str]) -> list[Span]:
        """Spans of a content that has these runs, wherever they stand."""
        return [
            (at + start, at + end)
            for run in self._runs.intersection(runs)
            for at in _standing(content, run)
            for start, end in self._in_run(run)
        ]

    def placed(self, readings: Sequence[Reading]) -> list[list[Span]]:
        """Spans of each reading."""
        spans: list[list[Span]] = [[] for _ in readings]
        if not self._having or not readings:
            return spans
        matching = np.zeros(len(self._known), bool)
        matching[self._having] = True
        numbers, starts = np.concatenate([reading.places for reading in readings], axis=1)
        found = np.flatnonzero(matching[numbers])
        ends = np.cumsum([reading.places.shape[1] for reading in readings])
        rows = np.searchsorted(ends, found, side="right").tolist()
        for row, number, at in zip(
            rows, numbers[found].tolist(), starts[found].tolist(), strict=True
        ):
            matches = self._in_run(self._known.run(number))
            spans[row] += [(at + start, at + end) for start, end in matches]
        return spans

    def _in_run(self, run: str) -> list[Span]:
        matches = self._matches.get(run)
        if matches is None:
            matches = self._matches[run] = _merged(_chosen(self._known.tokens(run), self._wanted))
        return matches


class _LongRuns:
    """Marks the runs that are too long to be remembered."""

    def __init__(self, known: Vocabulary, wanted: frozenset[str]) -> None:
        self._known = known
        self._wanted = wanted
        self._plain = [term for term in wanted if _PLAIN_TERM.fullmatch(term)]

    def spans(self, run: str, at: int) -> Iterator[Span]:
        """Those of a run that stands at ``at``."""
        for piece in _PIECE.finditer(run):
            offset = at + piece.start()
            for start, end in self._in_piece(piece[0]):
                yield offset + start, offset + end

    def _in_piece(self, text: str) -> list[Span]:
        if _PLAIN_TERM.match(text):
            return self._in_plain(text)
        if len(self._plain) == len(self._wanted):
            return []
        return _chosen(self._known.tokens(text), self._wanted)

    def _in_plain(self, text: str) -> list[Span]:
        """By the text's pairs where it is shorter than the list of terms, else by the terms."""
        if len(self._plain) <= len(text):
            return [(at, at + len(term)) for term in self._plain for at in _places(text, term)]
        ends = [(at, at + size) for size in (1, 2) for at in range(len(text) - size + 1)]
        return [(start, end) for start, end in ends if text[start:end] in self._wanted]


def _chosen(tokens: Iterable[Token], wanted: frozenset[str]) -> list[Span]:
    return [(start, end) for term, start, end in tokens if term in wanted]


def _places(text: str, part: str) -> Iterator[int]:
    """Where ``part`` starts in ``text``; occurrences may overlap."""
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def _standing(content: str, run: str) -> Iterator[int]:
    """Where ``run`` stands between white space or the ends of ``content``."""
    at = content.find(run)
    while at >= 0:
        end = at + len(run)
        opens = at == 0 or content[at - 1].isspace()
        if opens and (end == len(content) or content[end].isspace()):
            yield at
        at = content.find(run, end)  # none starts inside: there is no white space in a run


def _merged(spans: Iterable[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
