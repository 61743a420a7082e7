"""Orders the head of a ranking by the scores of a cross-encoder.

What it did not see follows what it scored, in fused order, with score 0: no row is lost.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from ragbase.retrieval.fusion import FusedHit

__all__ = ["Ranked", "Score", "rerank", "rerank_depth"]

Score = Callable[[Sequence[str]], Awaitable[Sequence[float]]]
"""One score a text, in order."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A ranking; the first ``scored`` hits bear reranker scores, the others 0."""

    hits: list[FusedHit]
    scored: int


def rerank_depth(candidates: int, top_k: int) -> int:
    """Rows the reranker sees; does not depend on the page, so pages continue one another."""
    return max(candidates, top_k)


async def rerank(
    score: Score,
    hits: Sequence[FusedHit],
    texts: Mapping[int, str],
    *,
    min_score: float | None = None,
) -> Ranked:
    """Order those of ``hits`` that have a text (by chunk id) and let the others follow.

    Blank texts are not sent. Equal scores keep their fused order. ``min_score`` drops what is
    scored lower, and what is not scored. Raises what ``score`` raises.
    """
    sent = [hit for hit in hits if texts.get(hit.chunk_id, "").strip()]
    scores = await score([texts[hit.chunk_id] for hit in sent]) if sent else []
    scored = [hit._replace(score=value) for hit, value in zip(sent, scores, strict=True)]
    scored.sort(key=lambda hit: -hit.score)
    if min_score is not None:
        kept = [hit for hit in scored if hit.score >= min_score]
        return Ranked(kept, len(kept))
    seen = {hit.chunk_id for hit in sent}
    rest = [hit._replace(score=0.0) for hit in hits if hit.chunk_id not in seen]
    return Ranked(scored + rest, len(scored))
