"""How long a stretch of text is: in size units (words) and in the embedder's tokens.

A unit is a white-space separated word. Text that is written without spaces is counted so that a
unit is about a token: a Han or kana character, four characters of Thai, Lao, Khmer or Burmese,
eight characters of a string longer than any word (WordPiece gives up on words over 100 characters,
so their tokens say nothing).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import regex
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ragbase.clients.embedder import Tokenizer

__all__ = ["Positions", "Ruler", "count_units"]

Positions = NDArray[np.int64]
"""Shape (n,): code points of a text, growing."""

_DENSE: Final = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}"
_SYLLABIC: Final = r"\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_BLANK: Final = r"\s\x1C-\x1F"
"""What `str.split` takes for white space; Unicode counts the last four among control characters."""
_RUN: Final = regex.compile(rf"([^{_BLANK}{_DENSE}{_SYLLABIC}]++)|([{_DENSE}]++)|([{_SYLLABIC}]++)")
_WORD, _DENSE_RUN = 1, 2
_WORD_MAX: Final = 100
_LONG_STEP: Final = 8
_SYLLABIC_STEP: Final = 4


def _step(group: int, length: int) -> int:
    """Characters a unit in a run."""
    if group == _WORD:
        return length if length <= _WORD_MAX else _LONG_STEP
    return 1 if group == _DENSE_RUN else _SYLLABIC_STEP


def _unit_spans(text: str) -> tuple[Positions, Positions]:
    starts: list[int] = []
    ends: list[int] = []
    for match in _RUN.finditer(text):
        start, end = match.span()
        step = _step(match.lastindex, end - start)
        if end - start <= step:
            starts.append(start)
            ends.append(end)
        else:
            starts.extend(range(start, end, step))
            ends.extend(range(start + step, end, step))
            ends.append(end)
    return np.array(starts, dtype=np.int64), np.array(ends, dtype=np.int64)


def count_units(text: str) -> int:
    """Units of a text."""
    return len(_unit_spans(text)[0])


class Ruler:
    """Measures any stretch of one text without reading it again."""

    def __init__(self, text: str, tokenizer: Tokenizer | None) -> None:
        self.unit_starts, self.unit_ends = _unit_spans(text)
        empty = np.empty((0, 2), dtype=np.int64)
        tokens = empty if tokenizer is None else tokenizer.spans(text)
        self._token_starts: Positions = np.ascontiguousarray(tokens[:, 0])
        self._token_ends: Positions = np.ascontiguousarray(tokens[:, 1])

    def units(self, start: int, end: int) -> int:
        """Units that begin in ``text[start:end]``."""
        first = self.unit_starts.searchsorted(start, "left")
        return max(0, int(self.unit_starts.searchsorted(end, "left") - first))

    def tokens(self, start: int, end: int) -> int:
        """Tokens that lie, at least in part, in ``text[start:end]``; 0 without a tokenizer."""
        first = self._token_ends.searchsorted(start, "right")
        return max(0, int(self._token_starts.searchsorted(end, "left") - first))

    def unit_range(self, starts: Positions, ends: Positions) -> tuple[Positions, Positions]:
        """Index of the first unit of each stretch, and one past its last.

        The length from stretch i to stretch j is then ``last[j] - first[i]``.
        """
        return (
            np.searchsorted(self.unit_starts, starts, "left"),
            np.searchsorted(self.unit_starts, ends, "left"),
        )

    def token_range(self, starts: Positions, ends: Positions) -> tuple[Positions, Positions]:
        """The same for tokens."""
        return (
            np.searchsorted(self._token_ends, starts, "right"),
            np.searchsorted(self._token_starts, ends, "left"),
        )
