"""One model at work: in a process of ours, or behind a server's URL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ragbase_inference.errors import TextTooLongError
from ragbase_inference.gguf.client import LlamaClient
from ragbase_inference.gguf.errors import ReplacedFileError
from ragbase_inference.gguf.facts import GgufKind
from ragbase_inference.gguf.process import LlamaProcess
from ragbase_inference.scores import sigmoid

__all__ = ["GgufInfo", "LlamaModel", "fitting"]

_BATCH = 32
"""Texts a request: other callers get their turn between two."""
_PAIR_SPECIALS = 4
"""Most special tokens between and around the two texts of a pair."""


@dataclass(frozen=True, slots=True)
class GgufInfo:
    """Facts about a model that runs."""

    name: str
    kind: GgufKind
    max_tokens: int
    """Most tokens of an input, special ones included; of a chat model prompt and answer together;
    of a reranker query and text together."""
    dimension: int | None
    """Of embedding models."""
    version: str = field(default="", compare=False)
    """Of its file; "" of a server's."""


class LlamaModel:
    """Blocking; safe to call from any thread. Raises `ModelFailedError`, `TextTooLongError`,
    `ReplacedFileError`."""

    def __init__(
        self,
        info: GgufInfo,
        client: LlamaClient,
        *,
        process: LlamaProcess | None = None,
        template: bool = True,
        scores_are_logits: bool = True,
        need_bytes: int = 0,
    ) -> None:
        self.info = info
        self._client = client
        self._process = process
        self._template = template
        self._scores_are_logits = scores_are_logits
        self._need_bytes = need_bytes
        self._swapped = False

    @property
    def alive(self) -> bool:
        """Whether its process runs, or its server has the model that it had."""
        return not self._swapped and (self._process is None or self._process.alive)

    def answers(self) -> bool:
        """Whether it can be asked now."""
        return self._client.answers()

    def memory_bytes(self) -> int:
        """RAM held, or what was reckoned with where that is more: caches fill with use."""
        held = 0 if self._process is None else self._process.memory_bytes()
        return max(self._need_bytes, held)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, special ones included."""
        return self._client.count_each(texts)

    def embed(self, texts: Sequence[str], *, cut: bool) -> NDArray[np.float32]:
        """Unit vectors (texts, dimension); texts too long are cut, or `TextTooLongError`."""
        if not texts:
            return np.empty((0, self.info.dimension or 0), np.float32)
        limit, taken = self.info.max_tokens, list(texts)
        for index, tokens in self._too_long(taken, limit):
            if not cut:
                raise TextTooLongError(index, tokens, limit)
            taken[index] = fitting(taken[index], limit, self._client.count_tokens)
        return np.concatenate([self._whole(self._client.embed(part)) for part in _batches(taken)])

    def _whole(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """The vectors, if they have this model's length: its server may run another by now."""
        if self.info.dimension not in (None, vectors.shape[1]) and self._process is None:
            self._swapped = True
            raise ReplacedFileError(f"the server of {self.info.name!r} runs another model now")
        return vectors

    def _too_long(self, texts: Sequence[str], limit: int) -> list[tuple[int, int]]:
        """Places of the texts of more than ``limit`` tokens, and how many each has."""
        places = [place for place, text in enumerate(texts) if not _is_short(text, limit)]
        counts = self._client.count_each([texts[place] for place in places])
        return [each for each in zip(places, counts, strict=True) if each[1] > limit]

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """One score in 0…1 a text, in their order. The query keeps at most half of the room."""
        if not texts:
            return []
        room = self.info.max_tokens - _PAIR_SPECIALS
        count = self._client.count_tokens
        query = fitting(query, room // 2, count)
        left, taken = room - count(query), list(texts)
        for place, _ in self._too_long(taken, left):
            taken[place] = fitting(taken[place], left, count)
        scores = np.concatenate([self._client.rerank(query, batch) for batch in _batches(taken)])
        found: list[float] = (sigmoid(scores) if self._scores_are_logits else scores).tolist()
        return found

    def chat(self, prompt: str, *, max_tokens: int, temperature: float) -> str:
        """The answer to one user message; `TextTooLongError` where it leaves no room for it."""
        ask = self._client.chat if self._template else self._client.complete
        return ask(prompt, max_tokens=max_tokens, temperature=temperature)

    def close(self) -> None:
        """Give everything back; what it works on fails. The second call does nothing."""
        self._client.close()
        if self._process is not None:
            self._process.close()


def fitting(text: str, limit: int, count: Callable[[str], int]) -> str:
    """The longest beginning of ``text`` that ``count``s at most ``limit`` tokens, or near it."""
    if _is_short(text, limit) or count(text) <= limit:
        return text
    fits, fails = 0, len(text)
    while fails - fits > 1:
        middle = (fits + fails) // 2
        if count(text[:middle]) <= limit:
            fits = middle
        else:
            fails = middle
    return text[:fits]


def _is_short(text: str, limit: int) -> bool:
    """Whether it need not be counted: a token has a byte at least."""
    return len(text.encode()) + _PAIR_SPECIALS <= limit


def _batches(texts: Sequence[str]) -> list[Sequence[str]]:
    return [texts[start : start + _BATCH] for start in range(0, len(texts), _BATCH)]
