"""From a text to windows, contexts and vectors: what storing and not storing have in common."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ragbase.clients.embedder import Embedder
from ragbase.errors import TooLargeError
from ragbase.ingest.flat_windows import Window, flat_windows, shortened_to
from ragbase.models.domain import Vectors
from ragbase.models.localrag import Windows
from ragbase.services.localrag.contexts import ContextService
from ragbase.services.localrag.notes import CONTEXTS_CUT, WINDOWS_SHORTER, Note
from ragbase.text.clean import clean_text

__all__ = ["PassageService", "Passages"]

EMBEDDED_AT_ONCE = 256
"""Texts handed to the embedder at a time, so that one long text holds little beside its vectors."""


@dataclass(frozen=True, slots=True)
class Passages:
    """The chunks of a text.

    Row i of ``vectors`` (n, d) is window i's; ``contexts[i]`` is "" where there is none, and
    ``context_vectors`` holds a row for each of the others, in order.
    """

    windows: list[Window]
    contexts: list[str]
    vectors: Vectors
    context_vectors: Vectors
    notes: list[Note] = field(default_factory=list)


class PassageService:
    """Makes passages; holds no connection meanwhile."""

    def __init__(
        self, contexts: ContextService, *, max_chunks: int, text_chars: int, parallel_splits: int
    ) -> None:
        self._contexts = contexts
        self._text_chars = text_chars
        self._max_chunks = max_chunks
        self._splitting = asyncio.Semaphore(parallel_splits)

    async def make(self, text: str, body: Windows, embedder: Embedder) -> Passages:
        """Split, write contexts where they are wanted, embed: each text once.

        Raises `TooLargeError` beyond the bound on chunks, and what the models raise.
        """
        self.check(text, body)
        notes: list[Note] = []
        info = await embedder.info()
        async with self._splitting:
            windows, shorter = await asyncio.to_thread(
                flat_windows,
                text,
                size=body.chunk_size,
                overlap=body.overlap,
                max_tokens=info.passage_tokens,
                tokenizer=embedder.tokenizer,
            )
        self._refuse_more(len(windows))
        if shorter:
            notes.append(WINDOWS_SHORTER)
        contexts = [""] * len(windows)
        if body.generate_contexts:
            contexts, said = await self._contexts.write(text, windows, use_openai=body.use_openai)
            notes += said
            fitted = await asyncio.to_thread(_fitted, contexts, info.passage_tokens, embedder)
            if fitted != contexts:
                notes.append(CONTEXTS_CUT)
            contexts = fitted
        vectors = await _embedded([window.content for window in windows], embedder)
        context_vectors = await _embedded([each for each in contexts if each], embedder)
        return Passages(windows, contexts, vectors, context_vectors, notes)

    def checked(self, text: str, field: str) -> str:
        """``text`` as it is split. Raises `TooLargeError`, `InvalidInputError`."""
        if len(text) > self._text_chars:
            raise TooLargeError(
                f"{field} has {len(text)} characters; at most {self._text_chars} are taken "
                "(RAGBASE_MAX_TEXT_CHARS).",
                code="text_too_long",
            )
        return clean_text(text, field)

    def check(self, text: str, body: Windows) -> None:
        """Raise what would be raised whatever the models: before any work."""
        self._contexts.check(use_openai=body.use_openai)
        step = body.chunk_size - body.overlap
        # No text of n characters has more than n/2 words.
        if len(text) // 2 // step > self._max_chunks:
            self._refuse_more(len(text.split()) // step)

    def _refuse_more(self, chunks: int) -> None:
        if chunks > self._max_chunks:
            raise TooLargeError(
                f"The text makes {chunks} chunks; at most {self._max_chunks} are taken "
                "(LOCALRAG_MAX_CHUNKS).",
                code="too_many_chunks",
            )


def _fitted(contexts: Sequence[str], limit: int, embedder: Embedder) -> list[str]:
    """The contexts, those cut that the embedder could not take whole."""
    there = [each for each in contexts if each]
    counts = dict(zip(there, embedder.tokenizer.count(there), strict=True)) if there else {}
    return [
        shortened_to(each, max_tokens=limit, tokenizer=embedder.tokenizer)
        if counts.get(each, 0) > limit
        else each
        for each in contexts
    ]


async def _embedded(texts: Sequence[str], embedder: Embedder) -> Vectors:
    """One row a text; equal texts are embedded once."""
    info = await embedder.info()
    distinct = list(dict.fromkeys(texts))
    rows = np.empty((len(distinct), info.dimension), np.float32)
    for start in range(0, len(distinct), EMBEDDED_AT_ONCE):
        part = distinct[start : start + EMBEDDED_AT_ONCE]
        rows[start : start + len(part)] = await embedder.embed_passages(part)
    place = {text: number for number, text in enumerate(distinct)}
    return rows[[place[text] for text in texts]] if len(distinct) < len(texts) else rows
