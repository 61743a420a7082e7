"""Windows of words with their line breaks lost: what the second API calls a chunk (its §4)."""

from __future__ import annotations

from dataclasses import dataclass

from ragbase.clients.embedder import Tokenizer
from ragbase.ingest.split import SplitRules, split

__all__ = ["Window", "flat_windows", "shortened_to"]

_WHOLE = 1 << 40
"""More words than any text has."""


@dataclass(frozen=True, slots=True)
class Window:
    """``content`` is ``text[start:end]`` with every run of white space made one blank."""

    content: str
    start: int
    end: int
    words: int


def flat_windows(
    text: str, *, size: int, overlap: int, max_tokens: int, tokenizer: Tokenizer
) -> tuple[list[Window], bool]:
    """The windows in order, and whether the embedder's limit made some of them shorter.

    No window is blank, the last one ends with the text, and none has more than ``max_tokens``.
    CPU-bound: call it from a worker thread.
    """
    rules = SplitRules(size=size, overlap=overlap, syntax="words", max_tokens=max_tokens)
    pieces = split(text, rules, tokenizer)
    windows = [
        Window(" ".join(piece.content.split()), piece.start, piece.end, piece.words)
        for piece in pieces
    ]
    return windows, any(window.words < size for window in windows[:-1])


def shortened_to(text: str, *, max_tokens: int, tokenizer: Tokenizer) -> str:
    """As much of the text's beginning, on one line, as the embedder takes."""
    windows, _ = flat_windows(
        text, size=_WHOLE, overlap=0, max_tokens=max_tokens, tokenizer=tokenizer
    )
    return windows[0].content if windows else ""
