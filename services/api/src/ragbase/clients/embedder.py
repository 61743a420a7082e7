"""What the product asks of an embedder, in-process or remote.

Implementations: `ragbase.clients.inprocess` (ONNX Runtime), `ragbase.clients.tei`,
`ragbase.clients.openai`. All retry what may pass, check what they get back (count, finite,
non-zero, dimension) and raise `EmbedderUnavailableError` or `UpstreamError` otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ragbase.models.domain import Vector, Vectors

__all__ = ["Embedder", "EmbedderInfo", "Tokenizer"]


@dataclass(frozen=True, slots=True)
class EmbedderInfo:
    """Facts about the model behind an embedder.

    ``max_tokens`` is the model's real limit; of it ``overhead_tokens`` (special tokens and the
    passage prefix) are not available to a passage.
    """

    model: str
    dimension: int
    max_tokens: int
    overhead_tokens: int

    @property
    def passage_tokens(self) -> int:
        """Tokens a passage may have without being cut."""
        return self.max_tokens - self.overhead_tokens


class Tokenizer(Protocol):
    """The embedder's own tokens. Synchronous, may block: call it from a worker thread."""

    def spans(self, text: str) -> NDArray[np.int64]:
        """Shape (n, 2): start and end code points of each token, without special tokens."""
        ...

    def count(self, texts: Sequence[str]) -> list[int]:
        """Number of tokens of each text, without special tokens and prefixes."""
        ...


class Embedder(Protocol):
    """Turns texts into unit vectors. Never truncates a passage silently."""

    @property
    def tokenizer(self) -> Tokenizer:
        """Counts as the model does."""
        ...

    async def info(self) -> EmbedderInfo:
        """Facts about the model; asks the server on the first call, then remembers."""
        ...

    async def embed_query(self, text: str) -> tuple[Vector, bool]:
        """The query's vector, and whether the text was cut to the model's limit."""
        ...

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """One row a text, in order. Batches, retries and halves as the server needs."""
        ...

    async def embed_texts(self, texts: Sequence[str]) -> Vectors:
        """As `embed_passages`, without any prefix (the pass-through route); long texts are cut."""
        ...

    async def ping(self) -> None:
        """Return when the embedder can answer now, else raise `EmbedderUnavailableError`."""
        ...

    async def aclose(self) -> None:
        """Release connections and threads."""
        ...
