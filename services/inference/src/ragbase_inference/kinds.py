"""What a loaded model can do, whatever runs it.

Backends (`ragbase_inference.backends`) implement these protocols; the server and the API ask for
no more. All methods are synchronous, may take long, and are safe to call from any thread; a
`Batcher` calls `embed`, `logits` and the like from one thread of its own.

A model is of one kind, told by its files:

    embedding    one vector a text
    reranker     one score a (query, text) pair: a head with one label, or Qwen3-Reranker
    classifier   one score a label, of a text or a pair: a head with several labels
    ner          spans of a text that bear one of the labels asked for
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ragbase_inference.tokens import Encoded, Side, TextTokenizer

__all__ = [
    "Backend",
    "EmbeddingModel",
    "Kind",
    "LoadedModel",
    "ModelFacts",
    "NerText",
    "PairModel",
    "Side",
    "Span",
    "SpanModel",
]

Kind: TypeAlias = Literal["embedding", "reranker", "classifier", "ner"]
Backend: TypeAlias = Literal["onnx", "torch", "gliner"]


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What is known of a model once it is loaded."""

    model: str
    """The Hugging Face id or folder, as it was asked for, without the revision."""
    revision: str | None
    kind: Kind
    backend: Backend
    device: str
    """``cpu``, ``cuda:0``; ROCm's torch calls its devices cuda as well."""
    dtype: str
    """``float32``, ``float16``, ``bfloat16``, ``int8``."""
    max_tokens: int
    """Most tokens of an input, special tokens included."""
    batch_tokens: int
    """Most tokens of a batch, padding included, that pay on this device."""
    dimension: int | None = None
    """Numbers of a vector; embedding models only."""
    pooling: str | None = None
    labels: tuple[str, ...] = ()
    """Names of the columns of `PairModel.logits`."""


class LoadedModel(Protocol):
    """Common to all kinds."""

    @property
    def facts(self) -> ModelFacts:
        """What is known of it."""
        ...

    @property
    def tokenizer(self) -> TextTokenizer:
        """The model's own tokens."""
        ...

    def memory_bytes(self) -> int:
        """Memory held by weights and caches, on the device or in RAM; an estimate."""
        ...

    def close(self) -> None:
        """Release memory and threads; the second call does nothing."""
        ...


class EmbeddingModel(LoadedModel, Protocol):
    """One vector a text."""

    @property
    def prompts(self) -> Mapping[str, str]:
        """Prefixes by name, of the model's own files (``config_sentence_transformers.json``)."""
        ...

    @property
    def default_prompt(self) -> str | None:
        """Name of the prompt that applies where none is asked for."""
        ...

    def encode(self, texts: Sequence[str], *, cut: Side | None) -> list[Encoded]:
        """Token ids of each text, at most ``facts.max_tokens``; the prefix is the caller's.

        ``cut`` None: raises `TextTooLongError` instead.
        """
        ...

    def embed(self, batch: Sequence[Encoded]) -> NDArray[np.float32]:
        """Pooled vectors (rows, dimension), not normalised. A text's does not depend on the batch.

        Raises `OutOfMemoryError` or `ModelFailedError`. NaN is let through: see `check_finite`.
        """
        ...

    def embed_tokens(self, batch: Sequence[Encoded]) -> list[NDArray[np.float32]]:
        """Last hidden state of every token, special ones included: (tokens, dimension) each."""
        ...


class PairModel(LoadedModel, Protocol):
    """Rerankers and classifiers: a head over a text, or over a pair of texts."""

    def encode_pairs(
        self, pairs: Sequence[tuple[str, str | None]], *, cut: Side | None
    ) -> list[Encoded]:
        """Token ids of (query, text) or of a lone text (text, None).

        Too long pairs lose tokens of their longer member first. ``cut`` None: raises
        `TextTooLongError` instead.
        """
        ...

    def logits(self, batch: Sequence[Encoded]) -> NDArray[np.float32]:
        """Shape (rows, labels), before any activation; a reranker has one column.

        A reranker's score in 0…1 is always ``sigmoid(logit)``. Raises as `EmbeddingModel.embed`.
        """
        ...


@dataclass(frozen=True, slots=True)
class NerText:
    """One text to look through; texts of like labels share a batch."""

    text: str
    labels: tuple[str, ...]
    threshold: float
    """Least score of a span, 0…1."""

    def __len__(self) -> int:
        """Roughly its tokens, labels included."""
        return 1 + len(self.text) // 4 + sum(2 + len(label) // 4 for label in self.labels)


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of the text, in code points; ``text[start:end]`` bears ``label``."""

    start: int
    end: int
    label: str
    score: float


class SpanModel(LoadedModel, Protocol):
    """Zero-shot named entity recognition."""

    def spans(self, batch: Sequence[NerText]) -> list[list[Span]]:
        """Spans of each text in order of their start; raises as `EmbeddingModel.embed`.

        A text longer than the model reads is looked through piece by piece, not cut.
        """
        ...
