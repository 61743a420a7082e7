"""What the product asks of a reranker (a cross-encoder), in-process or remote.

Implementations: `ragbase.clients.inprocess_reranker` (ONNX Runtime), `ragbase.clients.tei_reranker`.
Both split, retry what may pass, and check what they get back (one finite number in 0…1 a text).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ragbase.errors import UpstreamError

__all__ = ["Reranker", "RerankerInfo", "checked_scores"]


@dataclass(frozen=True, slots=True)
class RerankerInfo:
    """Facts about the model; ``max_tokens`` (of a query and a text together) None: not known."""

    model: str
    max_tokens: int | None = None


class Reranker(Protocol):
    """Tells how well each text answers a query. Longer texts than the model reads are cut."""

    async def info(self) -> RerankerInfo:
        """Facts about the model; asks the server where they are not known yet."""
        ...

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """One score a text, 0…1, in the order of ``texts``; comparable between calls.

        Any number of texts, none of them blank. Raises `RerankerUnavailableError`,
        `DeadlineExceededError`, `UpstreamError`, or `InvalidInputError` where a text is refused.
        """
        ...

    async def ping(self) -> None:
        """Return when the reranker can answer now, else raise as `score` does."""
        ...

    async def aclose(self) -> None:
        """Release connections and threads."""
        ...


def checked_scores(scores: Sequence[object], count: int, who: str) -> list[float]:
    """``scores`` as numbers, else `UpstreamError`: nothing is aligned by chance, no NaN is sorted.

    A score beyond 0…1 is one of another scale, which no threshold and no second batch fits.
    """
    if len(scores) != count:
        raise UpstreamError(f"The {who} gave {len(scores)} scores for {count} texts.")
    numbers = []
    for score in scores:
        if isinstance(score, bool) or not isinstance(score, int | float):
            raise UpstreamError(f"The {who} gave scores that are not numbers.")
        if not math.isfinite(score):
            raise UpstreamError(f"The {who} gave scores that are not finite.")
        if not 0.0 <= score <= 1.0:
            raise UpstreamError(f"The {who} gave scores beyond 0…1.")
        numbers.append(float(score))
    return numbers
