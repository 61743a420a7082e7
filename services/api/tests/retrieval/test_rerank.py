"""A ranking put in the order of scores: what is sent, what follows, what is dropped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from ragbase.errors import UnavailableError
from ragbase.retrieval.fusion import FusedHit
from ragbase.retrieval.rerank import rerank, rerank_depth


@dataclass
class Scorer:
    """Longer texts score higher; remembers what it was sent."""

    fault: Exception | None = None
    calls: list[list[str]] = field(default_factory=list)

    async def __call__(self, texts: Sequence[str]) -> list[float]:
        self.calls.append(list(texts))
        if self.fault is not None:
            raise self.fault
        return [len(text) / 100 for text in texts]


def hits(count: int) -> list[FusedHit]:
    return [FusedHit(n, 1 / n, ("keyword",)) for n in range(1, count + 1)]


def texts(count: int) -> dict[int, str]:
    """Longer for later hits, so that `Scorer` turns the order round."""
    return {n: "x" * n for n in range(1, count + 1)}


async def test_scored_rows_are_ordered_by_score_and_the_others_follow() -> None:
    ranked = await rerank(Scorer(), hits(5), texts(3))
    assert [(hit.chunk_id, hit.score) for hit in ranked.hits] == [
        *((3, 0.03), (2, 0.02), (1, 0.01)),
        *((4, 0.0), (5, 0.0)),
    ]
    assert ranked.scored == 3


async def test_equal_scores_keep_their_fused_order() -> None:
    ranked = await rerank(Scorer(), hits(9), dict.fromkeys(range(1, 10), "same"))
    assert [hit.chunk_id for hit in ranked.hits] == list(range(1, 10))


async def test_blank_passages_are_not_sent_and_not_lost() -> None:
    """B077."""
    passages = {**texts(4), 2: " \n\t", 3: ""}
    score = Scorer()
    ranked = await rerank(score, hits(4), passages)
    assert score.calls == [["x", "xxxx"]]
    assert [hit.chunk_id for hit in ranked.hits] == [4, 1, 2, 3]
    assert ranked.scored == 2


async def test_no_passage_means_no_call() -> None:
    score = Scorer()
    ranked = await rerank(score, hits(2), {})
    assert score.calls == []
    assert [hit.chunk_id for hit in ranked.hits] == [1, 2]
    assert ranked.scored == 0


async def test_the_least_score_drops_what_is_lower_or_unscored() -> None:
    """B049."""
    ranked = await rerank(Scorer(), hits(5), texts(3), min_score=0.02)
    assert [hit.chunk_id for hit in ranked.hits] == [3, 2]
    everything = await rerank(Scorer(), hits(5), texts(5), min_score=0.0)
    assert len(everything.hits) == 5


async def test_what_the_scorer_raises_is_let_through() -> None:
    with pytest.raises(UnavailableError, match="down"):
        await rerank(Scorer(UnavailableError("down")), hits(3), texts(3))


def test_the_depth_does_not_depend_on_the_page_and_reaches_top_k() -> None:
    """R14."""
    assert rerank_depth(50, 20) == 50
    assert rerank_depth(10, 100) == 100
