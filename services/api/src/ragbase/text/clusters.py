"""Grapheme clusters: what a reader takes for one character (UAX 29)."""

from __future__ import annotations

from typing import Final

import regex

__all__ = ["CLUSTER", "has_clusters"]

CLUSTER: Final = regex.compile(r"[\U0001F1E6-\U0001F1FF]{2}[\p{M}\u200D]*+|\X")
"""Matches one cluster. Flags are paired here: ``\\X`` reads a row of them anew for each one."""

_JOINING: Final = regex.compile(
    r"[\p{M}\p{Grapheme_Cluster_Break=Prepend}\u200C\u200D\u1100-\u11FF\uA960-\uA97F\uD7B0-\uD7FF"
    r"\U0001F1E6-\U0001F1FF\U0001F3FB-\U0001F3FF\U000E0020-\U000E007F\uFF9E\uFF9F\r]"
)


def has_clusters(text: str, start: int = 0, end: int | None = None) -> bool:
    """Whether some cluster of ``text[start:end]`` may be longer than one code point."""
    return _JOINING.search(text, start, len(text) if end is None else end) is not None
