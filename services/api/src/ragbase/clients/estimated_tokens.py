"""A guess at a text's tokens, for servers whose tokeniser is neither asked nor at hand.

Conservative: it is meant to be above the count of the usual sub-word vocabularies (BPE,
WordPiece, unigram) for prose, code and identifiers in any script, so that a chunk that fits by
the guess fits the model. The rule, in characters a token:

    a-z               3        (English averages above 4)
    A-Z               2
    digits, ASCII signs, line ends, tabs     1
    other characters  1 below U+0800, 2 tokens a character below U+10000, 4 above
    other white space 0        (belongs to the word after it)

Measured against WordPiece (all-MiniLM-L6-v2) and a byte-level BPE of 20,000 entries on English,
Chinese, ten other languages and Markdown with code: never below, at the median 1.4 to 2.4 times.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ragbase.clients.slices import slices

__all__ = ["EstimatedTokenizer"]

LOWER_CHARS, UPPER_CHARS = 3, 2
SPECIAL_TOKENS = 2
"""Start and end, as BERT and its heirs have them."""

_SPACE, _LOWER, _UPPER, _OTHER = range(4)
_BLANKS = np.array(
    [code for code in range(0x3001) if chr(code).isspace() and chr(code) not in "\t\n\r"],
    dtype=np.uint32,
)


class EstimatedTokenizer:
    """A `Tokenizer` by rule; a character of several tokens has as many equal spans."""

    special_tokens = SPECIAL_TOKENS

    def spans(self, text: str) -> NDArray[np.int64]:
        """Shape (n, 2): start and end code points of each token."""
        parts = [_spans(text[start:end]) + start for start, end in slices(text)]
        return np.concatenate([np.empty((0, 2), np.int64), *parts])

    def count(self, texts: Sequence[str]) -> list[int]:
        """Number of tokens of each text."""
        return [len(self.spans(text)) for text in texts]


def _spans(text: str) -> NDArray[np.int64]:
    codes = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    kinds = _kinds(codes)
    begins = _begins(kinds)
    starts = np.flatnonzero(begins)
    borders = np.flatnonzero(begins | (kinds == _SPACE))
    after = np.searchsorted(borders, starts, side="right")
    ends = np.concatenate([borders, [len(codes)]])[after]
    return np.repeat(np.stack([starts, ends], axis=1), _weights(codes[starts]), axis=0)


def _kinds(codes: NDArray[np.uint32]) -> NDArray[np.int64]:
    kinds = np.full(len(codes), _OTHER, dtype=np.int64)
    kinds[np.isin(codes, _BLANKS)] = _SPACE
    kinds[(codes >= ord("a")) & (codes <= ord("z"))] = _LOWER
    kinds[(codes >= ord("A")) & (codes <= ord("Z"))] = _UPPER
    return kinds


def _begins(kinds: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Where a token begins: each other character, and each full step into a run of letters."""
    places = np.arange(len(kinds))
    fresh = np.ones(len(kinds), dtype=bool)
    fresh[1:] = kinds[1:] != kinds[:-1]
    inside = places - np.maximum.accumulate(np.where(fresh, places, 0))
    begins = (
        (kinds == _OTHER)
        | ((kinds == _LOWER) & (inside % LOWER_CHARS == 0))
        | ((kinds == _UPPER) & (inside % UPPER_CHARS == 0))
    )
    return np.asarray(begins, dtype=np.bool_)


def _weights(codes: NDArray[np.uint32]) -> NDArray[np.int64]:
    return np.select([codes < 0x800, codes < 0x10000], [1, 2], default=4)
