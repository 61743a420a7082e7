"""Cuts a long text into slices that can be tokenised one by one."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["SLICE_CHARS", "slices"]

SLICE_CHARS = 16_384
"""At most 64 KiB of UTF-8; the tokens of a slice are some 20 times its bytes as JSON."""


def slices(text: str, most: int = SLICE_CHARS) -> Iterator[tuple[int, int]]:
    """Start and end (code points) of consecutive slices of at most ``most`` characters.

    Cuts lie before white space where the last quarter of a slice has some: no word is cut, and
    tokenisers that count a space to the word after it still see it. Elsewhere (text without
    spaces) a token across the cut becomes two, so counts may be too large by one, never too small.
    """
    start = 0
    while len(text) - start > most:
        end = _space_before(text, start + most, start + most - most // 4)
        yield start, end
        start = end
    if start < len(text):
        yield start, len(text)


def _space_before(text: str, end: int, least: int) -> int:
    for position in range(end, least, -1):
        if text[position].isspace() and not text[position - 1].isspace():
            return position
    return end
