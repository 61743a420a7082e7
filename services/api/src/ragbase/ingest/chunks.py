"""From a clean document to chunks ready to embed and store: split, head, analyse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from ragbase.clients.embedder import Tokenizer
from ragbase.ingest.headers import indexed_content, title_line
from ragbase.ingest.split import SplitRules, split
from ragbase.models.domain import ChunkDraft, Metadata
from ragbase.text.analyse import Analyser

__all__ = ["RECIPE_VERSION", "make_chunks"]

RECIPE_VERSION = 1
"""Part of the content hash: raise it when the same input would give other chunks."""


def make_chunks(
    title: str,
    content: str,
    metadata: Metadata,
    *,
    rules: SplitRules,
    analyser: Analyser,
    tokenizer: Tokenizer,
) -> list[ChunkDraft]:
    """Chunks of one document, in order. CPU-bound: call it from a worker thread.

    ``rules.max_tokens`` is what the embedder leaves to a passage; each chunk's header counts
    against it, so that nothing is cut when it is embedded.
    """
    head = title_line(title, metadata)

    @lru_cache(maxsize=4096)
    def header_tokens(breadcrumb: tuple[str, ...]) -> int:
        # One more for the blank between header and text, which some tokenizers count.
        return tokenizer.count([indexed_content(head, breadcrumb, "", "")])[0] + 1

    pieces = split(content, replace(rules, header_tokens=header_tokens), tokenizer)
    texts = [
        indexed_content(head, piece.breadcrumb, piece.prefix, piece.content) for piece in pieces
    ]
    return [
        ChunkDraft(
            index=index,
            content=piece.content,
            indexed_content=text,
            start=piece.start,
            end=piece.end,
            token_count=piece.words,
            terms=terms,
        )
        for index, (piece, text, terms) in enumerate(
            zip(pieces, texts, _analyse(analyser, texts), strict=True)
        )
    ]


def _analyse(analyser: Analyser, texts: Sequence[str]) -> list[list[str]]:
    return [analyser.terms(text) for text in texts]
