"""Context lines: what is asked about each chunk, and how the answer joins its index text.

After "Contextual Retrieval" (Anthropic, 2024): the document goes in front of every question, so
that a server which caches prefixes reads it once. Of a document that is too long the questions
hold its beginning and a window around the chunk; windows overlap by half, and neighbouring chunks
share theirs, so that the prefix still holds for several.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import regex

from ragbase.clients.embedder import Tokenizer
from ragbase.clients.estimated_tokens import EstimatedTokenizer
from ragbase.models.domain import ChunkDraft
from ragbase.text.analyse import Analyser

__all__ = ["Front", "Span", "clean_line", "fronts", "in_context", "line_room", "placed"]

HEAD_SHARE: Final = 8
"""One part in so many of the room is the document's beginning, which says what it is about."""
GAP: Final = "\n\n[…]\n\n"
LEAST_LINE_TOKENS: Final = 8
"""A shorter line says nothing."""

_ESTIMATE: Final = EstimatedTokenizer()
_UNWANTED: Final = regex.compile(r"[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\s]+")
_SENTENCE_END: Final = regex.compile(r"[.!?…][\"')\]]*(?=\s)|[。！？]")


class Span(NamedTuple):
    """A stretch of the document, in code points."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Front:
    """What stands before the questions about some chunks, given by their places in the list."""

    text: str
    chunks: tuple[int, ...]


def fronts(content: str, spans: Sequence[Span], most_tokens: int) -> list[Front]:
    """The document, or the part of it that fits in ``most_tokens`` (estimated), for each chunk.

    ``spans`` are the chunks', in order. Every chunk is in one front, in the middle half of its
    window unless the document ends there. CPU-bound for long documents.
    """
    if not spans:
        return []
    room = _room(content, most_tokens)
    if len(content) <= room:
        return [Front(content, tuple(range(len(spans))))]
    window = max(2, room - room // HEAD_SHARE)
    by_window: dict[int, list[int]] = {}
    for place, span in enumerate(spans):
        by_window.setdefault(_window(span, window, len(content)), []).append(place)
    return [
        Front(_excerpt(content, number * (window // 2), window, room), tuple(places))
        for number, places in sorted(by_window.items())
    ]


def _room(content: str, most_tokens: int) -> int:
    """Characters of this document that make up so many tokens."""
    tokens = _ESTIMATE.count([content])[0]
    return len(content) if tokens <= most_tokens else len(content) * most_tokens // tokens


def _window(span: Span, window: int, length: int) -> int:
    """Number of the window, each half a window further on, whose middle is nearest the chunk's."""
    step = window // 2
    last = -(-max(0, length - window) // step)
    middle = (span.start + span.end) // 2
    return min(last, max(0, round((middle - window / 2) / step)))


def _excerpt(content: str, start: int, window: int, room: int) -> str:
    head = room - window
    if start <= head:
        return _upto(content, 0, room) + (GAP.rstrip() if room < len(content) else "")
    end = start + window
    after = GAP.rstrip() if end < len(content) else ""
    return _upto(content, 0, head) + GAP + _upto(content, start, end).lstrip() + after


def _upto(content: str, start: int, end: int) -> str:
    """``content[start:end]`` without the words that the ends would cut, where there are blanks."""
    text = content[start:end]
    if start and not content[start - 1].isspace():
        text = regex.sub(r"^\S{1,100}(?=\s)", "", text)
    if end < len(content) and not content[end].isspace():
        text = regex.sub(r"(?<=\s)\S{1,100}$", "", text)
    return text.rstrip()


def clean_line(answer: str) -> str:
    """A model's answer as one line that can be stored: NFC, no control characters."""
    return unicodedata.normalize("NFC", _UNWANTED.sub(" ", answer)).strip()


def line_room(line_tokens: int, passage_tokens: int) -> int:
    """Tokens that the splitter leaves to a line, of all that the embedder takes of a passage."""
    return min(line_tokens, passage_tokens // 4)


def placed(indexed: str, content: str, line: str) -> str:
    """The index text ``indexed``, which ends with the chunk ``content``, with the line before it."""
    if not line:
        return indexed
    return f"{indexed[: len(indexed) - len(content)]}{line} {content}"


def in_context(
    chunks: Sequence[ChunkDraft],
    lines: Sequence[str | None],
    *,
    line_tokens: int,
    passage_tokens: int,
    tokenizer: Tokenizer,
    analyser: Analyser,
) -> list[ChunkDraft]:
    """The chunks, which have no line yet, with theirs; those whose line is None stay as they are.

    A line is cut to ``line_tokens``, and further where header, line and chunk together would pass
    the ``passage_tokens`` that the embedder takes. CPU-bound: call it from a worker thread.
    """
    counts = tokenizer.count([chunk.indexed_content for chunk in chunks])
    done: list[ChunkDraft] = []
    for chunk, line, count in zip(chunks, lines, counts, strict=True):
        if line is None:
            done.append(chunk)
            continue
        # One more for the blank between line and text, which some tokenizers count.
        room = min(line_tokens, passage_tokens - count - 1)
        line = _fitted(chunk, line, room, passage_tokens, tokenizer)
        indexed = placed(chunk.indexed_content, chunk.content, line)
        terms = analyser.terms(indexed) if line else chunk.terms
        done.append(replace(chunk, indexed_content=indexed, terms=terms, context=line))
    return done


def _fitted(
    chunk: ChunkDraft, line: str, room: int, passage_tokens: int, tokenizer: Tokenizer
) -> str:
    """The longest beginning of the line that fits, "" where next to nothing does."""
    while room >= LEAST_LINE_TOKENS:
        short = _shortened(line, room, tokenizer)
        over = tokenizer.count([placed(chunk.indexed_content, chunk.content, short)])[0]
        if over <= passage_tokens:
            return short
        room -= over - passage_tokens  # tokens at the seams
    return ""


def _shortened(line: str, room: int, tokenizer: Tokenizer) -> str:
    spans = tokenizer.spans(line)
    if len(spans) <= room:
        return line
    whole_character = spans[room, 0] >= spans[room - 1, 1]  # some are several tokens
    text = line[: int(spans[room - 1, 1 if whole_character else 0])]
    ends = [match.end() for match in _SENTENCE_END.finditer(text + " ")]
    if ends and ends[-1] >= len(text) // 2:
        return text[: ends[-1]]
    words, blank, _ = text.rpartition(" ")
    return words if blank and not line[len(text)].isspace() else text.rstrip()
