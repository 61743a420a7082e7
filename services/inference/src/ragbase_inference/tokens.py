"""The model's own tokens: ids to run, exact counts, and where each token stands in the text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tokenizers
from numpy.typing import NDArray

from ragbase_inference.errors import ModelUnavailableError

__all__ = ["Encoded", "TextTokenizer"]

_SLICE_CHARS = 10_000
"""A tokenizer slows down on long texts (1 MB whole: 1.1 s; in slices, in parallel: 0.4 s)."""
_SLICES_AT_ONCE = 32
"""An encoding holds 130 bytes a token: of 5 million characters at once 340 MB, of these 20."""
_SLICE_POINT = re.compile(r"(?<=\S) (?=\S)")
"""One lone space: no tokenizer joins what stands before it with what follows, and the slice that
begins with it is tokenised as it would be in place. (Of other white space some is dropped by
some tokenizers, so that the words around it become one.)"""
_PROBE = "Slices of text, joined again, must give the (same) tokens: 3.14 naïve 世界"


@dataclass(frozen=True, slots=True)
class Encoded:
    """Token ids with special tokens; ``cut`` when the text had more than fit."""

    ids: list[int]
    cut: bool = False

    def __len__(self) -> int:
        return len(self.ids)


class TextTokenizer:
    """A fast tokenizer that never truncates or pads unless told; safe to use from any thread."""

    def __init__(self, folder: Path) -> None:
        """Read ``tokenizer.json``; raises `ModelUnavailableError`."""
        path = folder / "tokenizer.json"
        try:
            self._inner = tokenizers.Tokenizer.from_file(str(path))
        except Exception as error:
            raise ModelUnavailableError(f"{path} cannot be read: {error}") from error
        self._inner.no_truncation()  # published files often carry the limits of a training run
        self._inner.no_padding()
        self._before, self._after = self._special_tokens()
        self._sliceable = self._slices_are_safe()

    @property
    def special_tokens(self) -> int:
        """How many special tokens surround a text."""
        return len(self._before) + len(self._after)

    def _special_tokens(self) -> tuple[list[int], list[int]]:
        """Ids put before and after a lone text."""
        bare = self._inner.encode("a", add_special_tokens=False).ids
        whole = self._inner.encode("a").ids
        for start in range(len(whole) - len(bare) + 1):
            if whole[start : start + len(bare)] == bare:
                return whole[:start], whole[start + len(bare) :]
        raise ModelUnavailableError("the tokenizer's special tokens do not surround the text")

    def _slices_are_safe(self) -> bool:
        """Whether slicing changes nothing; it does where a mark is put before every text."""
        slices = list(_slices(_PROBE, size=1))
        batch = self._inner.encode_batch(slices, add_special_tokens=False)
        joined = [token for one in batch for token in one.ids]
        return joined == self._inner.encode(_PROBE, add_special_tokens=False).ids

    def _slices_of(self, text: str) -> list[str]:
        return list(_slices(text, _SLICE_CHARS)) if self._sliceable else [text]

    def count(self, texts: Sequence[str]) -> list[int]:
        """Number of tokens of each text, without special tokens."""
        sliced = [self._slices_of(text) for text in texts]
        flat = [piece for pieces in sliced for piece in pieces]
        counts = iter([len(one.ids) for one in self._encode(flat)])
        return [sum(next(counts) for _ in pieces) for pieces in sliced]

    def spans(self, text: str) -> NDArray[np.int64]:
        """Shape (n, 2): start and end code points of each token, without special tokens."""
        pieces = self._slices_of(text)
        start, parts = 0, []
        for first in range(0, len(pieces), _SLICES_AT_ONCE):
            group = pieces[first : first + _SLICES_AT_ONCE]
            batch = self._inner.encode_batch(group, add_special_tokens=False)
            for piece, encoding in zip(group, batch, strict=True):
                parts.append(_offsets(encoding, leading_space=start > 0) + start)
                start += len(piece)
        return np.concatenate(parts)

    def encode(self, texts: Sequence[str], limit: int) -> list[Encoded]:
        """Ids to run, at most ``limit`` with special tokens; longer texts lose their end."""
        room = limit - self.special_tokens
        short = [text for text in texts if len(text) <= _SLICE_CHARS]
        encodings = iter(self._encode(short))
        return [
            self._surround(
                next(encodings).ids if len(text) <= _SLICE_CHARS else self._head(text, room), room
            )
            for text in texts
        ]

    def _head(self, text: str, room: int) -> list[int]:
        """More than ``room`` ids of a long text, or all: the rest is never looked at.

        A slice is long where lone spaces are rare, so each is encoded as a batch: `encode` alone
        keeps the interpreter lock, and 5 million blanks would stop all threads for ten seconds.
        """
        ids: list[int] = []
        for piece in self._slices_of(text):
            ids += self._encode([piece])[0].ids
            if len(ids) > room:
                break
        return ids

    def _surround(self, ids: list[int], room: int) -> Encoded:
        return Encoded([*self._before, *ids[:room], *self._after], cut=len(ids) > room)

    def _encode(self, texts: Sequence[str]) -> list[tokenizers.Encoding]:
        """Ids only: computing offsets costs a third more."""
        return self._inner.encode_batch_fast(list(texts), add_special_tokens=False)


def _offsets(encoding: tokenizers.Encoding, *, leading_space: bool) -> NDArray[np.int64]:
    """Spans within a slice; its first token does not cover the space that the slice begins with.

    Byte-level tokenizers leave the space out of every token's span but that of the first one.
    """
    spans = np.array(encoding.offsets, np.int64).reshape(-1, 2)
    if leading_space and len(spans) and spans[0, 1] > 1:
        spans[0, 0] = max(spans[0, 0], 1)
    return spans


def _slices(text: str, size: int) -> Iterator[str]:
    """Cut at lone white space, each slice of at least ``size`` characters; they join to the text."""
    start = 0
    while len(text) - start > size:
        point = _SLICE_POINT.search(text, start + size)
        if point is None:
            break
        yield text[start : point.start()]
        start = point.start()
    yield text[start:]
