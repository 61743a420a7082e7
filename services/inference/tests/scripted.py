"""A model whose every run the test controls: it can be held, made to fail, and asked what it saw."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragbase_inference.kinds import Kind, ModelFacts, NerText, Side, Span
from ragbase_inference.tokens import Encoded, TextTokenizer

DIMENSION = 8
LIMIT = 16


@dataclass
class Scripted:
    """All kinds of model in one. Vectors and logits depend on a text's own tokens alone."""

    tokenizer: TextTokenizer
    kind: Kind = "embedding"
    labels: tuple[str, ...] = ("LABEL_0",)
    prompts: Mapping[str, str] = field(default_factory=dict)
    default_prompt: str | None = None
    script: Callable[[list[Any]], None] = lambda batch: None
    """Called with each batch before it runs, on its thread; what it raises is the model's error."""
    poison: int | None = None
    """Token id of inputs that are answered with NaN."""
    batches: list[list[Any]] = field(default_factory=list)
    closed: threading.Event = field(default_factory=threading.Event)
    busy: threading.Event = field(default_factory=threading.Event)
    free: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.free.set()

    @property
    def facts(self) -> ModelFacts:
        return ModelFacts(
            model="test/scripted",
            revision=None,
            kind=self.kind,
            backend="onnx",
            device="cpu",
            dtype="float32",
            max_tokens=LIMIT,
            batch_tokens=1024,
            dimension=DIMENSION if self.kind == "embedding" else None,
            pooling="mean" if self.kind == "embedding" else None,
            labels=self.labels if self.kind in ("reranker", "classifier") else (),
        )

    def hold(self) -> None:
        """Let the next run wait for `release`; `busy` tells that it has begun."""
        self.busy.clear()
        self.free.clear()

    def release(self) -> None:
        self.free.set()

    def encode(self, texts: Sequence[str], *, cut: Side | None) -> list[Encoded]:
        return self.tokenizer.encode(texts, LIMIT, cut=cut)

    def encode_pairs(
        self, pairs: Sequence[tuple[str, str | None]], *, cut: Side | None
    ) -> list[Encoded]:
        return self.tokenizer.encode_pairs(pairs, LIMIT, cut=cut)

    def embed(self, batch: Sequence[Encoded]) -> NDArray[np.float32]:
        self._begin(batch)
        return np.stack([self._vector(one.ids) for one in batch])

    def embed_tokens(self, batch: Sequence[Encoded]) -> list[NDArray[np.float32]]:
        self._begin(batch)
        return [np.stack([self._vector([number]) for number in one.ids]) for one in batch]

    def logits(self, batch: Sequence[Encoded]) -> NDArray[np.float32]:
        """Of the last text of a pair: its number of ``a`` tokens, less for each further label."""
        self._begin(batch)
        (letter,) = self.tokenizer.encode(["a"], LIMIT, special=False)[0].ids
        rows = np.array([[one.ids.count(letter)] for one in batch], np.float32)
        for row, one in enumerate(batch):
            if self.poison in one.ids:
                rows[row] = np.nan
        less = np.arange(len(self.labels), dtype=np.float32)
        return np.asarray(rows - less, np.float32)

    def spans(self, batch: Sequence[NerText]) -> list[list[Span]]:
        """Words that are labels themselves."""
        self._begin(batch)
        return [
            [
                Span(one.text.index(label), one.text.index(label) + len(label), label, 0.75)
                for label in one.labels
                if label in one.text and one.threshold <= 0.75
            ]
            for one in batch
        ]

    def _vector(self, ids: Sequence[int]) -> NDArray[np.float32]:
        if self.poison in ids:
            return np.full(DIMENSION, np.nan, np.float32)
        rows = [np.random.default_rng(number).normal(size=DIMENSION) for number in ids]
        return np.asarray(np.mean(rows, axis=0), np.float32)

    def _begin(self, batch: Sequence[Any]) -> None:
        self.batches.append(list(batch))
        self.busy.set()
        assert self.free.wait(30)
        self.script(list(batch))

    def memory_bytes(self) -> int:
        return 1000

    def close(self) -> None:
        self.closed.set()
