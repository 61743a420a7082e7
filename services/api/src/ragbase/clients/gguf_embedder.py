"""A GGUF embedding model as the product's `Embedder`, tokens included."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import regex
from numpy.typing import NDArray

from ragbase.clients.embedder import EmbedderInfo
from ragbase.clients.gguf import GgufModels
from ragbase.errors import UpstreamError
from ragbase.models.domain import Vector, Vectors

__all__ = ["GgufEmbedder", "GgufTokenizer"]

BATCH = 64
"""Texts a call: a query of another request gets its turn between two calls."""
_WORD = regex.compile(r"\S+")


class GgufTokenizer:
    """Counts by the model itself; where tokens stand is told word by word.

    Text pieces are measured by `count` before they are used (`ragbase.ingest.split_exact`), so
    that a tokenizer which sees more than single words costs a second cut and no wrong one.
    """

    def __init__(
        self,
        models: GgufModels,
        name: str,
        *,
        overhead: int,
        version: str,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._models = models
        self._name = name
        self._overhead = overhead
        self._version = version
        self._loop = loop

    def spans(self, text: str) -> NDArray[np.int64]:
        """Shape (n, 2); the tokens of a word share it evenly."""
        places = [match.span() for match in _WORD.finditer(text)]
        words = [text[start:end] for start, end in places]
        distinct = list(dict.fromkeys(words))
        known = dict(zip(distinct, self.count(distinct), strict=True))
        rows: list[tuple[int, int]] = []
        for word, (start, end) in zip(words, places, strict=True):
            edges = np.linspace(start, end, max(1, known[word]) + 1).astype(np.int64).tolist()
            rows.extend(pairwise(edges))
        return np.array(rows, dtype=np.int64).reshape(-1, 2)

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, without the special ones."""
        if not texts:
            return []
        work = self._models.count_tokens(
            self._name, "embedding", list(texts), version=self._version
        )
        counts = asyncio.run_coroutine_threadsafe(work, self._loop).result()
        return [max(0, count - self._overhead) for count in counts]


class GgufEmbedder:
    """Implements `ragbase.clients.embedder.Embedder` by one model of `GgufModels`.

    Open it with `open`, which loads the model, for a request: all that it gives is of one file. Its
    owner is `GgufModels`: `aclose` does nothing.
    """

    def __init__(
        self, models: GgufModels, info: EmbedderInfo, name: str, version: str = ""
    ) -> None:
        self._models = models
        self._info = info
        self._name = name
        self.version = version
        self._tokenizer = GgufTokenizer(
            models,
            name,
            overhead=info.overhead_tokens,
            version=version,
            loop=asyncio.get_running_loop(),
        )

    @classmethod
    async def open(cls, models: GgufModels, name: str) -> GgufEmbedder:
        """The embedder of this name; raises as `GgufModels.info` does."""
        facts = await models.info(name, "embedding")
        if facts.dimension is None:
            raise UpstreamError(f"Model {name!r} gives no vectors.", code="model_wrong_kind")
        version = facts.version
        (overhead,) = await models.count_tokens(name, "embedding", [""], version=version)
        stored = f"{name.removesuffix('.gguf')}.gguf"
        info = EmbedderInfo(stored, facts.dimension, facts.max_tokens, overhead)
        return cls(models, info, name, version)

    @property
    def tokenizer(self) -> GgufTokenizer:
        """Counts as the model does."""
        return self._tokenizer

    async def info(self) -> EmbedderInfo:
        """Facts about the model; its name ends with ``.gguf``, so it is no served model's."""
        return self._info

    async def embed_query(self, text: str) -> tuple[Vector, bool]:
        """The query's vector, and whether the text was cut to the model's limit."""
        (count,) = await self._models.count_tokens(
            self._name, "embedding", [text], version=self.version
        )
        vectors = await self.embed_texts([text])
        return vectors[0], count > self._info.max_tokens

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """One row a text, in order; a text over the limit is refused."""
        parts = [
            await self._models.embed(self._name, texts[start : start + BATCH], version=self.version)
            for start in range(0, len(texts), BATCH)
        ]
        return np.concatenate(parts) if parts else np.empty((0, self._info.dimension), np.float32)

    async def embed_texts(self, texts: Sequence[str]) -> Vectors:
        """As `embed_passages`; long texts are cut."""
        return await self._models.embed(self._name, list(texts), cut=True, version=self.version)

    async def ping(self) -> None:
        """Return when the model can answer now."""
        await self.embed_query("ping")

    async def aclose(self) -> None:
        """Nothing: the models are closed together."""
