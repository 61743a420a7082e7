"""What a splitter is told and what it gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ragbase.errors import InvalidInputError

__all__ = ["Breadcrumb", "Piece", "SplitRules", "Syntax"]

Breadcrumb = tuple[str, ...]
"""Titles of the headings in force, outermost first."""

Syntax = Literal["markdown", "plain", "words"]


@dataclass(frozen=True, slots=True)
class SplitRules:
    """How to split. Raises `InvalidInputError` unless 0 ≤ overlap < size.

    ``size`` is the most words of a piece, overlap included, and ``overlap`` the most words that it
    repeats from the one before (`ragbase.ingest.split_ruler` says what a word is where there are no
    spaces). ``max_tokens`` caps a piece and its header together; ``header_tokens`` tells what a
    breadcrumb's header takes of it, and is asked once a breadcrumb. ``syntax`` is how to read the
    text: ``markdown`` (CommonMark), ``plain`` (paragraphs between blank lines) or ``words`` (windows
    of ``size`` words whatever the text's structure).
    """

    size: int = 512
    overlap: int = 50
    syntax: Syntax = "markdown"
    max_tokens: int | None = None
    header_tokens: Callable[[Breadcrumb], int] | None = None

    def __post_init__(self) -> None:
        if self.size < 1:
            raise InvalidInputError("chunk size must be at least 1 word", field="size")
        if not 0 <= self.overlap < self.size:
            raise InvalidInputError(
                f"chunk overlap must be at least 0 and below the size ({self.size})",
                field="overlap",
            )
        if self.max_tokens is not None and self.max_tokens < 1:
            raise InvalidInputError("max_tokens must be at least 1", field="max_tokens")


@dataclass(frozen=True, slots=True)
class Piece:
    """A chunk of a text: ``content == text[start:end]``, never blank, without outer white space.

    ``words`` is its length in size units. ``prefix`` is what its content cannot be read without and
    stands elsewhere in the text, the header of a table cut between rows; it belongs before the
    content where the piece is indexed, and counts as part of the token cap.
    """

    content: str
    start: int
    end: int
    breadcrumb: Breadcrumb
    words: int
    prefix: str = ""
