"""Finds the places in a chunk's content that match the query's terms.

Same result as analysing the whole content, at a small part of the cost: segments never hold white
space, so each run between white space is analysed alone and remembered. Long runs (scripts without
spaces, encoded data) are rarely seen twice; in those, pairs of plain characters are looked up as
they are, and what stands between them is analysed without its neighbours.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Final

from ragbase.text.analyse import Analyser, Token, analyser

__all__ = ["HIGHLIGHTS_MAX", "Highlighter", "Span", "highlights"]

Span = tuple[int, int]
"""Start and end, code points, end exclusive."""

HIGHLIGHTS_MAX: Final = 100
"""Most spans of a row: the first ones."""

_RUN_MAX: Final = 64
_KNOWN_MAX: Final = 50_000

# Characters of scripts without spaces that fold to themselves: two in a row are a term.
_PLAIN: Final = (
    "\u3005-\u3007\u3041-\u3096\u30a1-\u30fa\u30fc\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
)
_PIECE: Final = re.compile(f"[{_PLAIN}]+|[^{_PLAIN}]+")
_PLAIN_TERM: Final = re.compile(f"[{_PLAIN}]{{1,2}}")


def highlights(content: str, query_terms: Iterable[str], analyser: Analyser) -> list[Span]:
    """Spans of ``content`` whose terms are among ``query_terms``: in order, disjoint, not touching.

    At most `HIGHLIGHTS_MAX`. ``query_terms`` must come from the same analyser.
    """
    return Highlighter(query_terms, analyser.language).spans(content)


class Highlighter:
    """Marks many contents for one query."""

    def __init__(self, query_terms: Iterable[str], language: str) -> None:
        self._wanted = frozenset(query_terms)
        self._plain = [term for term in self._wanted if _PLAIN_TERM.fullmatch(term)]
        self._vocabulary = _vocabulary(language)
        self._matching = self._vocabulary.runs_with(self._wanted)
        self._matches: dict[str, list[Span]] = {}

    def spans(self, content: str) -> list[Span]:
        """See `highlights`."""
        if not self._wanted:
            return []
        runs = content.split()
        if not self._vocabulary.has_read(content, runs):
            self._consider(runs)
        spans: list[Span] = []
        for run in self._matching.intersection(runs):
            matches = self._matches_of(run)
            for at in _standing(content, run):
                spans += [(at + start, at + end) for start, end in matches]
        return _merged(spans)[:HIGHLIGHTS_MAX]

    def _matches_of(self, run: str) -> list[Span]:
        found = self._matches.get(run)
        if found is None:
            found = self._matches[run] = self._match(run)
        return found

    def _consider(self, runs: Sequence[str]) -> None:
        """Add to the matching runs those of ``runs`` that match, or are too long to tell."""
        if self._vocabulary.knows(runs):
            return
        for run in self._vocabulary.unknown(runs):
            if len(run) > _RUN_MAX or not self._wanted.isdisjoint(self._vocabulary.learn(run)):
                self._matching.add(run)

    def _match(self, run: str) -> list[Span]:
        """Spans of one run without white space."""
        if len(run) > _RUN_MAX:
            return list(self._match_long(run))
        return self._chosen(self._vocabulary.tokens(run))

    def _match_long(self, run: str) -> Iterator[Span]:
        for piece in _PIECE.finditer(run):
            offset = piece.start()
            for start, end in self._match_piece(piece[0]):
                yield offset + start, offset + end

    def _match_piece(self, text: str) -> list[Span]:
        if _PLAIN_TERM.match(text):
            return self._match_plain(text)
        if len(self._plain) == len(self._wanted):
            return []
        self._consider([text])
        return self._chosen(self._vocabulary.tokens(text)) if text in self._matching else []

    def _match_plain(self, text: str) -> list[Span]:
        """By the text's pairs where it is shorter than the list of terms, else by the terms."""
        if len(self._plain) <= len(text):
            return [(at, at + len(term)) for term in self._plain for at in _places(text, term)]
        ends = [(at, at + size) for size in (1, 2) for at in range(len(text) - size + 1)]
        return [(start, end) for start, end in ends if text[start:end] in self._wanted]

    def _chosen(self, tokens: Iterable[Token]) -> list[Span]:
        return [(start, end) for term, start, end in tokens if term in self._wanted]


class _Vocabulary:
    """The runs of one language that were seen: which terms they have, which runs have a term."""

    def __init__(self, language: str) -> None:
        self._analyser = analyser(language)
        self._known: set[str] = set()
        self._read: set[int] = set()
        self._runs: defaultdict[str, list[str]] = defaultdict(list)
        self._tokens: dict[str, tuple[Token, ...]] = {}

    def runs_with(self, terms: Iterable[str]) -> set[str]:
        return {run for term in terms for run in self._runs.get(term, ())}

    def has_read(self, content: str, runs: Sequence[str]) -> bool:
        """Whether all its runs are known; told by one look-up once it is true, where asking for each
        costs hundreds. Never of contents with long runs: those are looked at in each query anew."""
        read = hash(content)
        if read in self._read:
            return True
        if not self.knows(runs):
            return False
        if len(self._read) >= _KNOWN_MAX:
            self._read.clear()
        self._read.add(read)
        return True

    def knows(self, runs: Iterable[str]) -> bool:
        return self._known.issuperset(runs)

    def unknown(self, runs: Iterable[str]) -> set[str]:
        return set(runs) - self._known

    def learn(self, run: str) -> list[str]:
        """The terms of a run."""
        terms = self._analyser.terms(run)
        if len(self._known) >= _KNOWN_MAX:
            self._known.clear()
            self._runs.clear()
            self._read.clear()
        self._known.add(run)
        for term in set(terms):
            self._runs[term].append(run)
        return terms

    def tokens(self, run: str) -> tuple[Token, ...]:
        """Terms with their places; remembered, for what matches once matches again."""
        tokens = self._tokens.get(run)
        if tokens is None:
            tokens = tuple(self._analyser.tokens(run))
            if len(run) <= _RUN_MAX:
                if len(self._tokens) >= _KNOWN_MAX:
                    self._tokens.clear()
                self._tokens[run] = tokens
        return tokens


@cache
def _vocabulary(language: str) -> _Vocabulary:
    return _Vocabulary(language)


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


def _merged(spans: Sequence[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
