"""Long texts for GLiNER: cut into pieces that overlap, and the spans of the pieces made one list."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragbase_inference.kinds import Span

__all__ = ["Piece", "Word", "best_spans", "pieces", "shifted"]


@dataclass(frozen=True, slots=True)
class Word:
    """``text[start:end]``, of ``tokens`` tokens."""

    start: int
    end: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of the text, in code points, that begins and ends with a word."""

    start: int
    end: int
    tokens: int


def pieces(
    words: Sequence[Word], *, max_words: int, max_tokens: int, overlap: int
) -> Iterator[Piece]:
    """Stretches of at most so many words and tokens (a longer word stands alone).

    Neighbours share ``overlap`` words, or as many as leave a word to go on with, so that a span
    of up to that many words lies whole in one of them.
    """
    first = 0
    while first < len(words):
        last, tokens = first + 1, words[first].tokens
        while last < len(words) and last - first < max_words:
            if tokens + words[last].tokens > max_tokens:
                break
            tokens += words[last].tokens
            last += 1
        yield Piece(words[first].start, words[last - 1].end, tokens)
        if last == len(words):
            return
        first = max(first + 1, last - overlap)


def shifted(spans: Sequence[Span], offset: int) -> list[Span]:
    """Spans of a piece as spans of its text, in which it begins at ``offset``."""
    return [Span(one.start + offset, one.end + offset, one.label, one.score) for one in spans]


def best_spans(spans: Sequence[Span], threshold: float) -> list[Span]:
    """Those of at least ``threshold``, by their start; of spans that overlap the best one stays.

    As GLiNER itself does it for a lone text (flat decoding): highest score first.
    """
    kept: list[Span] = []  # in order of their start; none overlaps another
    for span in sorted(spans, key=lambda one: (-one.score, one.start, one.end, one.label)):
        place = bisect_right(kept, span.start, key=lambda one: one.start)
        neighbours = kept[max(0, place - 1) : place + 1]
        if span.score >= threshold and not any(_overlap(span, other) for other in neighbours):
            kept.insert(place, span)
    return kept


def _overlap(one: Span, other: Span) -> bool:
    return one.start < other.end and other.start < one.end
