"""GGUF models without llama.cpp: what `GgufModels` promises, with answers that a test can foretell.

The real ones are tested in ``test_gguf*.py``; here routing, joining and errors are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ragbase.clients.gguf import GgufInfo, GgufKind, GgufModel
from ragbase.errors import NotFoundError, UnavailableError, UpstreamError
from ragbase.models.domain import Vectors

CHAT, EMBEDDING, RERANKER = "talker", "vectors", "ranker"


def about(prompt: str) -> str:
    """A context that names what it was asked about."""
    chunk = prompt.partition("<chunk>")[2].partition("</chunk>")[0].strip()
    return f"About {chunk[:20]}"


def overlap(query: str, text: str) -> float:
    """Share of the query's words that a text holds."""
    words = query.lower().split()
    return sum(word in text.lower().split() for word in words) / len(words)


@dataclass
class StubModels:
    """Implements `ragbase.clients.gguf.GgufModels`; a test changes it and looks at it."""

    files: dict[GgufKind, list[str]] = field(
        default_factory=lambda: {"chat": [CHAT], "embedding": [EMBEDDING], "reranker": [RERANKER]}
    )
    dimension: int = 8
    max_tokens: int = 64
    write: Callable[[str], str] = about
    score: Callable[[str, str], float] = overlap
    broken: set[str] = field(default_factory=set)
    loaded: list[tuple[GgufKind, str]] = field(default_factory=list)
    embedded: list[str] = field(default_factory=list)
    prompts: list[str] = field(default_factory=list)
    ranked: list[list[str]] = field(default_factory=list)
    options: list[tuple[int, float]] = field(default_factory=list)
    busy: int = 0
    peak: int = 0
    delay_s: float = 0.0
    version: str = "first"
    """Another one says that the files were replaced."""
    salt: str = ""
    """Another one makes other vectors: another model of the same shape."""

    async def models(self) -> list[GgufModel]:
        return [
            GgufModel(name, kind, (kind, name) in self.loaded)
            for kind, names in self.files.items()
            for name in names
        ]

    async def has(self, name: str, kind: GgufKind) -> bool:
        return name.removesuffix(".gguf") in self.files[kind]

    async def load(self, name: str, kind: GgufKind) -> None:
        self._use(name, kind)

    async def unload(self, name: str) -> None:
        for kind in ("chat", "embedding", "reranker"):
            key = (kind, name.removesuffix(".gguf"))
            if key in self.loaded:
                self.loaded.remove(key)  # type: ignore[arg-type]
                return
        raise NotFoundError("not loaded", code="model_not_loaded")

    async def info(self, name: str, kind: GgufKind) -> GgufInfo:
        self._use(name, kind)
        return GgufInfo(
            name,
            kind,
            self.max_tokens,
            self.dimension if kind == "embedding" else None,
            self.version,
        )

    async def count_tokens(
        self, name: str, kind: GgufKind, texts: Sequence[str], *, version: str = ""
    ) -> list[int]:
        self._use(name, kind, version)
        return [2 + len(text.split()) for text in texts]

    async def embed(
        self, name: str, texts: Sequence[str], *, cut: bool = False, version: str = ""
    ) -> Vectors:
        self._use(name, "embedding", version)
        self.embedded += texts
        return np.stack([vector(text, self.dimension, self.salt) for text in texts])

    async def rerank(self, name: str, query: str, texts: Sequence[str]) -> list[float]:
        self._use(name, "reranker")
        self.ranked.append(list(texts))
        return [self.score(query, text) for text in texts]

    async def chat(
        self, name: str, prompt: str, *, max_tokens: int = 200, temperature: float = 0.0
    ) -> str:
        self._use(name, "chat")
        self.prompts.append(prompt)
        self.options.append((max_tokens, temperature))
        self.busy += 1
        self.peak = max(self.peak, self.busy)
        try:
            await asyncio.sleep(self.delay_s)
            return self.write(prompt)
        finally:
            self.busy -= 1

    async def aclose(self) -> None:
        self.loaded.clear()

    def _use(self, name: str, kind: GgufKind, version: str = "") -> None:
        if version not in ("", self.version):
            raise UnavailableError("the file was replaced", code="model_replaced")
        stem = name.removesuffix(".gguf")
        if stem not in self.files[kind]:
            raise NotFoundError("no such file", code="model_not_found")
        if stem in self.broken:
            raise UpstreamError(f"Model {stem!r} is no {kind} model.", code="model_unusable")
        if (kind, stem) not in self.loaded:
            self.loaded.append((kind, stem))


def vector(text: str, dimension: int, salt: str = "") -> np.ndarray:
    """A bag of words, as a unit vector: texts that share words are near each other."""
    found = np.full(dimension, 1e-3, np.float32)
    for word in text.lower().split():
        found[sum((word + salt).encode()) % dimension] += 1.0
    return found / np.linalg.norm(found)
