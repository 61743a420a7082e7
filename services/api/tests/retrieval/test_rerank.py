"""The rerank stage with rerankers that are slow, wrong, or particular about what they read."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from ragbase.errors import InvalidInputError, UnavailableError, UpstreamError
from ragbase.retrieval.fusion import FusedHit
from ragbase.retrieval.rerank import (
    CONCURRENT_BATCHES,
    Choice,
    Rerankers,
    rerank,
    rerank_depth,
)

Score = Callable[[Sequence[str]], Awaitable[list[float]]]


async def by_length(texts: Sequence[str]) -> list[float]:
    return [len(text) / 100 for text in texts]


@dataclass
class FakeReranker:
    """Scores by ``answer``; remembers what it was sent."""

    name: str = "default"
    answer: Score = by_length
    batch_size: int = 32
    timeout_s: float = 5.0
    calls: list[list[str]] = field(default_factory=list)

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        assert query == "question"
        self.calls.append(list(texts))
        return await self.answer(texts)


def hits(count: int) -> list[FusedHit]:
    return [FusedHit(n, n * 10, 1 / n, ("keyword",)) for n in range(1, count + 1)]


def texts(count: int) -> dict[int, str]:
    """Longer for later hits, so that `by_length` turns the order round."""
    return {n: "x" * n for n in range(1, count + 1)}


async def test_scored_rows_are_ordered_by_score_and_the_others_follow() -> None:
    ranked = await rerank(FakeReranker(), "question", hits(5), texts(3))
    assert [(hit.chunk_id, hit.score) for hit in ranked.hits] == [
        *((3, 0.03), (2, 0.02), (1, 0.01)),
        *((4, 0.0), (5, 0.0)),
    ]
    assert ranked.scored == 3
    assert ranked.hits[0].sources == ("keyword",)


async def test_equal_scores_keep_the_fused_order() -> None:
    async def same(texts: Sequence[str]) -> list[float]:
        return [0.5] * len(texts)

    ranked = await rerank(FakeReranker(answer=same), "question", hits(9), texts(9))
    assert [hit.chunk_id for hit in ranked.hits] == list(range(1, 10))


async def test_many_candidates_go_in_batches_and_come_back_in_place() -> None:
    """B075, R11."""
    reranker = FakeReranker(batch_size=32)
    ranked = await rerank(reranker, "question", hits(200), texts(200))
    assert sorted(map(len, reranker.calls)) == [8, 32, 32, 32, 32, 32, 32]
    assert [hit.chunk_id for hit in ranked.hits] == list(range(200, 0, -1))


async def test_few_batches_are_under_way_at_once() -> None:
    running = most = 0

    async def slow(texts: Sequence[str]) -> list[float]:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1
        return await by_length(texts)

    await rerank(FakeReranker(answer=slow, batch_size=1), "question", hits(20), texts(20))
    assert most == CONCURRENT_BATCHES


async def test_blank_passages_are_not_sent_and_not_lost() -> None:
    """B077."""
    passages = {**texts(4), 2: " \n\t", 3: ""}
    reranker = FakeReranker()
    ranked = await rerank(reranker, "question", hits(4), passages)
    assert reranker.calls == [["x", "xxxx"]]
    assert [hit.chunk_id for hit in ranked.hits] == [4, 1, 2, 3]
    assert ranked.scored == 2


async def test_no_passage_means_no_call() -> None:
    reranker = FakeReranker()
    ranked = await rerank(reranker, "question", hits(2), {})
    assert reranker.calls == []
    assert [hit.chunk_id for hit in ranked.hits] == [1, 2]
    assert ranked.scored == 0


async def test_the_least_score_drops_what_is_lower_or_unscored() -> None:
    """B049."""
    ranked = await rerank(FakeReranker(), "question", hits(5), texts(3), min_score=0.02)
    assert [hit.chunk_id for hit in ranked.hits] == [3, 2]
    everything = await rerank(FakeReranker(), "question", hits(5), texts(5), min_score=0.0)
    assert len(everything.hits) == 5


@pytest.mark.parametrize(
    "scores",
    [
        [],
        [0.1],
        [0.1, 0.2, 0.3, 0.4],
        [0.1, math.nan, 0.3],
        [0.1, math.inf, 0.3],
        [0.1, None, 0.3],
        [0.1, "high", 0.3],
    ],
)
async def test_unusable_scores_are_an_error(scores: Any) -> None:
    """B073: nothing is aligned by chance."""

    async def wrong(_: Sequence[str]) -> list[float]:
        return list(scores)

    with pytest.raises(UpstreamError):
        await rerank(FakeReranker(answer=wrong), "question", hits(3), texts(3))


async def test_one_failed_batch_fails_the_stage_with_its_own_error() -> None:
    async def second_fails(texts: Sequence[str]) -> list[float]:
        if len(texts[0]) > 2:
            raise UnavailableError("down")
        return await by_length(texts)

    with pytest.raises(UnavailableError, match="down"):
        await rerank(FakeReranker(answer=second_fails, batch_size=2), "question", hits(6), texts(6))


async def test_the_time_budget_holds_over_all_batches() -> None:
    """B071."""

    async def hangs(_: Sequence[str]) -> list[float]:
        await asyncio.sleep(60)
        return []

    reranker = FakeReranker(answer=hangs, batch_size=1, timeout_s=0.02)
    with pytest.raises(TimeoutError):
        await rerank(reranker, "question", hits(9), texts(9))


def test_the_depth_does_not_depend_on_the_page_and_reaches_top_k() -> None:
    """R14."""
    assert rerank_depth(50, 20) == 50
    assert rerank_depth(10, 100) == 100


def test_names_choose_a_reranker_or_its_stand_in() -> None:
    """R13."""
    default, small = FakeReranker(), FakeReranker(name="small")
    rerankers = Rerankers({"default": default, "small": small})
    assert rerankers.choose(None) == Choice(default, fallback=False)
    assert rerankers.choose("default") == Choice(default, fallback=False)
    assert rerankers.choose("small") == Choice(small, fallback=False)
    assert rerankers.choose("qwen-8b") == Choice(default, fallback=True)


def test_without_any_reranker_the_contracts_names_are_still_names() -> None:
    assert Rerankers().choose(None) == Choice(None, fallback=False)
    assert Rerankers().choose("bge-gpu") == Choice(None, fallback=False)


def test_an_unknown_name_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(InvalidInputError) as caught:
        Rerankers({"small": FakeReranker(name="small")}).choose("large")
    assert caught.value.field == "rerank_model"
    for name in ("default", "bge-gpu", "qwen-4b", "qwen-8b", "small"):
        assert name in caught.value.message
