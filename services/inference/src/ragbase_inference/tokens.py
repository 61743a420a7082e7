"""The model's own tokens: ids to run, exact counts, and where each token stands in the text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import tokenizers
from numpy.typing import NDArray

from ragbase_inference.errors import ModelUnavailableError, TextTooLongError
from ragbase_inference.pair_template import PairTemplate, longest_first, pair_template
from ragbase_inference.slices import slices
from ragbase_inference.token_text import TokenText, token_texts

__all__ = ["Encoded", "Side", "TextTokenizer"]

Side: TypeAlias = Literal["left", "right"]
"""The end of a text that is cut where it is too long."""

_SLICE_CHARS = 10_000
"""A tokenizer slows down on long texts (1 MB whole: 1.1 s; in slices, in parallel: 0.4 s)."""
_SLICES_AT_ONCE = 32
"""An encoding holds 130 bytes a token: of 5 million characters at once 340 MB, of these 20."""
_EDGE_TOKENS = 64
"""Tokens this near to where a text was cut blindly may be others than in the whole text."""
_PROBE = "Slices of text, joined again, must give the (same) tokens: 3.14 naïve 世界"


@dataclass(frozen=True, slots=True)
class Encoded:
    """Token ids with special tokens; ``cut`` when the text had more than fit."""

    ids: list[int]
    cut: bool = False
    segments: list[int] | None = None
    """Of each token, the text of a pair it belongs to, as the model numbers them; None: all 0."""

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
        probes = list(slices(_PROBE, size=1))
        batch = self._inner.encode_batch(probes, add_special_tokens=False)
        joined = [token for one in batch for token in one.ids]
        return joined == self._inner.encode(_PROBE, add_special_tokens=False).ids

    def _slices_of(self, text: str) -> list[str]:
        return list(slices(text, _SLICE_CHARS)) if self._sliceable else [text]

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

    def encode(
        self,
        texts: Sequence[str],
        limit: int,
        *,
        cut: Side | None = "right",
        special: bool = True,
    ) -> list[Encoded]:
        """Ids to run, at most ``limit`` with special tokens; longer texts lose the end ``cut``.

        ``cut`` None: raises `TextTooLongError` instead. ``special`` False leaves special tokens
        out. Work is bounded by ``limit``, not by the length of the texts.
        """
        encoded = [
            self._lone(ids, limit, cut, special=special)
            for ids in self._bounded(texts, limit, cut or "right")
        ]
        if cut is None:
            self._refuse_cut(encoded, [(text, None) for text in texts], limit, special=special)
        return encoded

    def encode_pairs(
        self,
        pairs: Sequence[tuple[str, str | None]],
        limit: int,
        *,
        cut: Side | None = "right",
    ) -> list[Encoded]:
        """Ids of (first, second) joined as the model wants it, or of lone texts (first, None).

        Too long pairs lose tokens of their longer member first. Else as `encode`. A text that
        occurs in many pairs, as a query does, is tokenised once.
        """
        texts = list(dict.fromkeys(text for pair in pairs for text in pair if text is not None))
        ids = dict(zip(texts, self._bounded(texts, limit, cut or "right"), strict=True))
        encoded = [
            self._lone(ids[first], limit, cut)
            if second is None
            else self._joined(ids[first], ids[second], limit, cut)
            for first, second in pairs
        ]
        if cut is None:
            self._refuse_cut(encoded, pairs, limit)
        return encoded

    def _lone(
        self, ids: list[int], limit: int, cut: Side | None, *, special: bool = True
    ) -> Encoded:
        before, after = (self._before, self._after) if special else ([], [])
        kept = _keep(ids, limit - len(before) - len(after), cut)
        return Encoded([*before, *kept, *after], cut=len(kept) < len(ids))

    def _joined(self, first: list[int], second: list[int], limit: int, cut: Side | None) -> Encoded:
        room = max(0, limit - self._pairs.special_tokens)
        ones, twos = longest_first(len(first), len(second), room)
        ids, segments = self._pairs.join(_keep(first, ones, cut), _keep(second, twos, cut))
        return Encoded(ids, ones + twos < len(first) + len(second), segments)

    def _refuse_cut(
        self,
        encoded: Sequence[Encoded],
        inputs: Sequence[tuple[str, str | None]],
        limit: int,
        *,
        special: bool = True,
    ) -> None:
        """Raise `TextTooLongError` of the first that was cut, its tokens counted whole."""
        for index, (one, (first, second)) in enumerate(zip(encoded, inputs, strict=True)):
            if one.cut:
                extra = self.special_tokens if special else 0
                if second is not None:
                    extra = self._pairs.special_tokens
                texts = [first] if second is None else [first, second]
                raise TextTooLongError(index, sum(self.count(texts)) + extra, limit)

    def explain(self, text: str, *, special: bool = True) -> list[TokenText]:
        """All tokens of ``text`` with their own texts and places; nothing is cut."""
        (encoding,) = self._inner.encode_batch([text], add_special_tokens=special)
        return token_texts(text, encoding)

    def decode(self, ids: Sequence[int], *, skip_special: bool = True) -> str:
        """Text of token ids; raises `ValueError` on one that the vocabulary lacks."""
        unknown = [number for number in ids if not 0 <= number < self.vocabulary]
        if unknown:
            raise ValueError(f"there is no token {unknown[0]}: ids are below {self.vocabulary}")
        return str(self._inner.decode(list(ids), skip_special_tokens=skip_special))

    @cached_property
    def vocabulary(self) -> int:
        """Number of tokens, added ones included."""
        return int(self._inner.get_vocab_size(with_added_tokens=True))

    @cached_property
    def _pairs(self) -> PairTemplate:
        return pair_template(self._inner)

    def _bounded(self, texts: Sequence[str], room: int, side: Side) -> list[list[int]]:
        """All ids of short texts; of long ones more than ``room`` from one end, or all."""
        short = [text for text in texts if len(text) <= _SLICE_CHARS]
        encodings = iter(self._encode(short))
        return [
            next(encodings).ids if len(text) <= _SLICE_CHARS else self._end_of(text, room, side)
            for text in texts
        ]

    def _end_of(self, text: str, room: int, side: Side) -> list[int]:
        """More than ``room`` ids of the end that stays, or all: the rest is never looked at.

        Each slice is encoded as a batch: `encode` alone keeps the interpreter lock, and 5 million
        blanks would stop all threads for ten seconds.
        """
        pieces = self._slices_of(text)
        ids: list[int] = []
        for piece in reversed(pieces) if side == "left" else pieces:
            found = self._end_of_slice(piece, room - len(ids), side)
            ids = found + ids if side == "left" else ids + found
            if len(ids) > room:
                break
        return ids

    def _end_of_slice(self, piece: str, room: int, side: Side) -> list[int]:
        """The same of one slice, which is long where lone spaces are rare.

        It is read in stretches that double. Tokens at the edge of a stretch do not count.
        """
        chars = 2 * _SLICE_CHARS
        while chars < len(piece):
            stretch = piece[-chars:] if side == "left" else piece[:chars]
            ids = list(self._encode([stretch])[0].ids)
            if len(ids) > room + _EDGE_TOKENS:
                return ids[_EDGE_TOKENS:] if side == "left" else ids[:-_EDGE_TOKENS]
            chars *= 2
        return list(self._encode([piece])[0].ids)

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


def _keep(ids: list[int], count: int, cut: Side | None) -> list[int]:
    """At most ``count`` ids, without those at the end that is cut."""
    count = max(0, count)
    return ids[-count:] if cut == "left" and 0 < count < len(ids) else ids[:count]
