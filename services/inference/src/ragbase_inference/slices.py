"""Slices of a text that tokenise one by one as they would in place."""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["slices"]

_SLICE_POINT = re.compile(r"(?<=\S) (?=\S)")
"""One lone space: no tokenizer joins what stands before it with what follows, and the slice that
begins with it is tokenised as it would be in place. (Of other white space some is dropped by
some tokenizers, so that the words around it become one.)"""


def slices(text: str, size: int) -> Iterator[str]:
    """Cut at lone white space, each slice of at least ``size`` characters; they join to the text."""
    start = 0
    while len(text) - start > size:
        point = _SLICE_POINT.search(text, start + size)
        if point is None:
            break
        yield text[start : point.start()]
        start = point.start()
    yield text[start:]
