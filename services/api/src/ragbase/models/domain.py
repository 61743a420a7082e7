"""The values that pass between layers inside the process; none of them is an HTTP body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ArmName",
    "ChunkDraft",
    "Collection",
    "Document",
    "DocumentDraft",
    "Hit",
    "Metadata",
    "StoredChunk",
    "Vector",
    "Vectors",
]

ArmName = Literal["semantic", "keyword", "graph"]
Metadata = Mapping[str, Any]
Vector = NDArray[np.float32]
"""Shape (d,), L2-normalised unless said otherwise."""
Vectors = NDArray[np.float32]
"""Shape (n, d), rows L2-normalised unless said otherwise."""


class Hit(NamedTuple):
    """One row of an arm's ranking. Scores of different arms are not comparable.

    A tuple: a search makes hundreds, and a frozen dataclass takes five times as long to make.
    """

    chunk_id: int
    score: float


@dataclass(frozen=True, slots=True)
class ChunkDraft:
    """A chunk ready to be stored.

    ``content == document.content[start:end]`` (code points). ``indexed_content`` is what is
    embedded and keyword-indexed; ``terms`` are its analysed terms, in order, with repeats.
    ``token_count`` counts words, as the contract does.
    """

    index: int
    content: str
    indexed_content: str
    start: int
    end: int
    token_count: int
    terms: Sequence[str]
    context: str | None = None
    """The line that places it in its document; None: none was made, "": none fits."""


@dataclass(frozen=True, slots=True)
class DocumentDraft:
    """A document ready to be stored; all texts cleaned (NFC, no NUL, no surrogates)."""

    title: str
    content: str
    metadata: Metadata
    collection_id: int
    external_id: str | None = None
    content_hash: bytes = b""
    """BLAKE2b-128 over everything the chunks and vectors depend on; equal hash = nothing to do."""
    contextual: bool = False
    """Whether its chunks should have context lines."""


@dataclass(frozen=True, slots=True)
class Document:
    """A stored document; ``content`` is empty when it was not asked for."""

    id: int
    title: str
    content: str
    metadata: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    chunk_count: int
    collection: str
    external_id: str | None = None
    content_hash: bytes = b""
    contextual: bool = False


class StoredChunk(NamedTuple):
    """A chunk as read back for an answer; offsets are None on rows adopted from elsewhere."""

    id: int
    document_id: int
    chunk_index: int
    content: str
    indexed_content: str
    token_count: int
    start: int | None
    end: int | None
    document_title: str
    collection: str
    external_id: str | None
    metadata: dict[str, Any]
    context: str | None = None
    """Read by `list_chunks` only."""


@dataclass(frozen=True, slots=True)
class Collection:
    """A named, isolated set of documents with its retrieval settings.

    ``embedding_model_id`` is the row of ``embedding_models`` its vectors belong to (None until
    the first document). ``fusion`` and ``chunking`` are None where the defaults hold.
    """

    id: int
    name: str
    language: str
    fusion: Mapping[str, Any] | None
    chunking: Mapping[str, int] | None
    embedding_model: str | None
    embedding_model_id: int | None
    created_at: datetime
    contextual_retrieval: bool = False
