"""Orders the head of a ranking by a cross-encoder, or leaves it as it is and says why.

A reranker may be absent, slow, down or wrong: none of these loses a row. What it did not see
follows what it scored, in fused order, with score 0.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from ragbase.errors import InvalidInputError, UpstreamError
from ragbase.retrieval.fusion import FusedHit

__all__ = ["CONTRACT_NAMES", "Choice", "Ranked", "Reranker", "Rerankers", "rerank", "rerank_depth"]

CONTRACT_NAMES: Final = ("default", "bge-gpu", "qwen-4b", "qwen-8b")
"""Names that a request may use whether configured or not."""

CONCURRENT_BATCHES: Final = 4
"""Calls under way at once for one search."""


class Reranker(Protocol):
    """A cross-encoder, in-process or remote."""

    @property
    def name(self) -> str:
        """What requests call it."""
        ...

    @property
    def batch_size(self) -> int:
        """Most texts of one call of `score`."""
        ...

    @property
    def timeout_s(self) -> float:
        """Time budget of all calls for one search."""
        ...

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """One score a text, 0…1, in the order of ``texts``; comparable between calls.

        Raises `UnavailableError` or `UpstreamError`.
        """
        ...


@dataclass(frozen=True, slots=True)
class Choice:
    """The reranker to use, if any, and whether it stands in for another that was asked for."""

    reranker: Reranker | None
    fallback: bool


class Rerankers:
    """The configured rerankers by name; ``default`` also stands in for those that are not."""

    def __init__(self, configured: Mapping[str, Reranker] | None = None) -> None:
        self._configured = dict(configured or {})

    def choose(self, name: str | None) -> Choice:
        """Raises `InvalidInputError` for a name that is neither the contract's nor configured."""
        wanted = name or "default"
        if wanted in self._configured:
            return Choice(self._configured[wanted], fallback=False)
        if wanted not in CONTRACT_NAMES:
            names = ", ".join(dict.fromkeys((*CONTRACT_NAMES, *self._configured)))
            raise InvalidInputError(
                f"There is no reranker of that name. Use one of {names}, or leave rerank_model out.",
                code="unknown_reranker",
                field="rerank_model",
            )
        default = self._configured.get("default")
        return Choice(default, fallback=default is not None)


@dataclass(frozen=True, slots=True)
class Ranked:
    """A ranking; the first ``scored`` hits bear reranker scores, the others 0."""

    hits: list[FusedHit]
    scored: int


def rerank_depth(candidates: int, top_k: int) -> int:
    """Rows the reranker sees; does not depend on the page, so pages continue one another."""
    return max(candidates, top_k)


async def rerank(
    reranker: Reranker,
    query: str,
    hits: Sequence[FusedHit],
    texts: Mapping[int, str],
    *,
    min_score: float | None = None,
) -> Ranked:
    """Order those of ``hits`` that have a text (by chunk id) and let the others follow.

    Blank texts are not sent. Equal scores keep their fused order. ``min_score`` drops what is
    scored lower, and what is not scored. Raises `TimeoutError` after ``reranker.timeout_s``,
    `UpstreamError` on unusable scores, and whatever the reranker raises.
    """
    sent = [hit for hit in hits if texts.get(hit.chunk_id, "").strip()]
    async with asyncio.timeout(reranker.timeout_s):
        scores = await _scores(reranker, query, [texts[hit.chunk_id] for hit in sent])
    scored = [hit._replace(score=score) for hit, score in zip(sent, scores, strict=True)]
    scored.sort(key=lambda hit: -hit.score)
    if min_score is not None:
        kept = [hit for hit in scored if hit.score >= min_score]
        return Ranked(kept, len(kept))
    seen = {hit.chunk_id for hit in sent}
    rest = [hit._replace(score=0.0) for hit in hits if hit.chunk_id not in seen]
    return Ranked(scored + rest, len(scored))


async def _scores(reranker: Reranker, query: str, texts: Sequence[str]) -> list[float]:
    slots = asyncio.Semaphore(CONCURRENT_BATCHES)

    async def score(batch: Sequence[str]) -> list[float]:
        async with slots:
            return _checked(await reranker.score(query, batch), len(batch))

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(score(batch)) for batch in _batches(reranker, texts)]
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return [score for task in tasks for score in task.result()]


def _batches(reranker: Reranker, texts: Sequence[str]) -> Iterator[Sequence[str]]:
    size = max(1, reranker.batch_size)
    for start in range(0, len(texts), size):
        yield texts[start : start + size]


def _checked(scores: Sequence[float], count: int) -> list[float]:
    if len(scores) != count:
        raise UpstreamError(f"The reranker gave {len(scores)} scores for {count} texts.")
    try:
        numbers = [float(score) for score in scores]
    except (TypeError, ValueError):
        raise UpstreamError("The reranker gave scores that are not numbers.") from None
    if not all(map(math.isfinite, numbers)):
        raise UpstreamError("The reranker gave scores that are not finite.")
    return numbers
