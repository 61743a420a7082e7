"""Tokens shown to a person: their text, and where it stands in the input."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import tokenizers
from numpy.typing import NDArray

__all__ = ["TokenText", "token_texts"]


@dataclass(frozen=True, slots=True)
class TokenText:
    """One token. ``start`` and ``stop`` are bytes of the text in UTF-8; None for special tokens."""

    id: int
    text: str
    special: bool
    start: int | None
    stop: int | None


def token_texts(text: str, encoding: tokenizers.Encoding) -> list[TokenText]:
    """Tokens of ``text``; that of a special token is its name, else the stretch it stands for."""
    at = _byte_offsets(text)
    return [
        TokenText(number, name, True, None, None)
        if special
        else TokenText(number, text[start:stop], False, int(at[start]), int(at[stop]))
        for number, name, special, (start, stop) in zip(
            encoding.ids,
            encoding.tokens,
            encoding.special_tokens_mask,
            encoding.offsets,
            strict=True,
        )
    ]


def _byte_offsets(text: str) -> NDArray[np.int64]:
    """Offset in UTF-8 of each code point, and of the end."""
    points = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    sizes = 1 + (points >= 0x80) + (points >= 0x800) + (points >= 0x10000)
    return np.concatenate([[0], np.cumsum(sizes)])
