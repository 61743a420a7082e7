"""Search with rerankers: what they read, what they change, and what happens when they fail."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest

from ragbase.errors import UnavailableError, UpstreamError
from ragbase.models.search import SearchRequest, SearchResponse


def request(query: str = "north quay ships", **fields: Any) -> SearchRequest:
    return SearchRequest.model_validate({"query": query, **fields})


def ids(answer: SearchResponse) -> list[int]:
    return [row.chunk_id for row in answer.results]


def codes(answer: SearchResponse) -> list[str]:
    return [warning.code for warning in answer.warnings]


async def test_the_reranker_orders_the_rows_and_is_named(harbour: Any, fake_reranker: Any) -> None:
    reranker = fake_reranker(scores=[0.1, 0.2, 0.3, 0.4, 0.5])
    answer = await harbour.service(reranker).search(request(explain=True))
    fused = await harbour.service().search(request())
    assert ids(answer) == ids(fused)[::-1]
    assert [row.score for row in answer.results] == [0.5, 0.4, 0.3, 0.2, 0.1]
    assert answer.retrievers_used == ["semantic", "keyword", "rerank"]
    assert (answer.score_kind, answer.reranker_used) == ("rerank", "default")
    assert all("rerank" not in row.sources for row in answer.results)
    assert answer.timings_ms.rerank > 0
    first = answer.results[0].explain
    assert first is not None
    assert (first["rerank"].rank, first["rerank"].score, first["fused"].rank) == (1, 0.5, 5)


async def test_no_reranker_runs_unless_wanted(harbour: Any, fake_reranker: Any) -> None:
    reranker = fake_reranker()
    service = harbour.service(reranker)
    answer = await service.search(request(rerank=False, rerank_model="default"))
    assert "rerank" not in answer.retrievers_used
    assert answer.reranker_used is None
    await service.keyword(request())
    await service.semantic(request())
    assert reranker.read == []


async def test_nothing_found_is_nothing_to_rerank(harbour: Any, fake_reranker: Any) -> None:
    answer = await harbour.service(fake_reranker()).search(request("zeppelin", min_score=1.0))
    assert (answer.results, answer.retrievers_used, answer.score_kind) == ([], [], "rrf")


async def test_the_reranker_reads_the_indexed_text_or_the_raw_one(
    harbour: Any, fake_reranker: Any
) -> None:
    indexed, raw = fake_reranker(), fake_reranker()
    await harbour.service(indexed).search(request("rice"))
    await harbour.service(raw, rerank_text="raw").search(request("rice"))
    assert "[Recipes] Boil the rice, then add salt." in indexed.read
    assert "Boil the rice, then add salt." in raw.read


async def test_the_reranker_used_is_named_also_when_it_stands_in(
    harbour: Any, fake_reranker: Any
) -> None:
    """R13."""
    default, small = fake_reranker(), fake_reranker(name="small")
    service = harbour.service(default, small)
    assert (await service.search(request(rerank_model="small"))).reranker_used == "small"
    answer = await service.search(request(rerank_model="qwen-4b"))
    assert answer.reranker_used == "default"
    assert codes(answer) == ["reranker_fallback"]
    assert "qwen-4b" in answer.warnings[0].message
    assert not answer.degraded


FAULTS = [
    {"fault": UnavailableError("The reranker cannot be reached.")},
    {"fault": UpstreamError("The reranker answered 500.")},
    {"fault": UpstreamError("The reranker named index 0 twice.")},
    {"fault": ConnectionResetError("secret host")},
    {"scores": []},
    {"scores": [0.5]},
    {"scores": [0.5, math.nan, 0.5, 0.5, 0.5]},
    {"scores": [0.5, "x", 0.5, 0.5, 0.5]},
    {"delay_s": 60, "timeout_s": 0.05},
]


@pytest.mark.parametrize("fault", FAULTS, ids=str)
async def test_a_reranker_that_fails_costs_nothing_but_its_order(
    harbour: Any, fake_reranker: Any, fault: dict[str, Any]
) -> None:
    """B071, B073, R12."""
    service = harbour.service(fake_reranker(**fault))
    answer = await asyncio.wait_for(service.search(request(min_rerank_score=0.9)), 5)
    fused = await harbour.service().search(request())
    assert [(row.chunk_id, row.score) for row in answer.results] == [
        (row.chunk_id, row.score) for row in fused.results
    ]
    late = "timeout_s" in fault
    assert codes(answer) == ["rerank_timeout" if late else "rerank_unavailable"]
    assert answer.degraded
    assert (answer.score_kind, answer.reranker_used) == ("rrf", None)
    assert "rerank" not in answer.retrievers_used
    assert "secret" not in answer.warnings[0].message


async def test_each_score_is_cut_on_its_own_scale(harbour: Any, fake_reranker: Any) -> None:
    """B049, R16."""
    plain = harbour.service()
    ranked = harbour.service(fake_reranker(scores=[0.9, 0.1, 0.8, 0.05, 0.3]))
    assert (await plain.search(request(min_score=0.2))).total == 5
    assert (await ranked.search(request(min_score=0.2))).total == 5
    assert (await plain.search(request(min_rerank_score=0.2))).total == 5
    cut = await ranked.search(request(min_rerank_score=0.2))
    assert [row.score for row in cut.results] == [0.9, 0.8, 0.3]
    keyword_rows = await plain.search(request(min_score=1.0))
    assert keyword_rows.total == 3
    assert all(row.sources == ["keyword"] for row in keyword_rows.results)


async def test_blank_chunks_are_kept_but_not_sent(world: Any, fake_reranker: Any) -> None:
    """B077."""
    await world.add("Signal", "  \n ", "Signal one", "Signal two")
    reranker = fake_reranker()
    answer = await world.service(reranker).search(request("signal"))
    assert sorted(reranker.read) == ["[Signal] Signal one", "[Signal] Signal two"]
    assert answer.total == 3
    assert answer.results[-1].content.strip() == ""
    assert answer.results[-1].score == 0.0


async def test_grouping_takes_the_best_chunk_after_reranking(
    harbour: Any, fake_reranker: Any
) -> None:
    service = harbour.service(fake_reranker(scores=[0.1, 0.2, 0.3, 0.4, 0.5]))
    rows = (await service.search(request())).results
    grouped = (await service.search(request(group_by="document"))).results
    best = {row.document_id: row.chunk_id for row in reversed(rows)}
    assert [row.chunk_id for row in grouped] == list(
        dict.fromkeys(best[r.document_id] for r in rows)
    )
    assert len(grouped) == 4


async def test_a_stand_in_that_ran_is_named_with_the_reason(
    harbour: Any, fake_reranker: Any
) -> None:
    """R13."""
    chosen = fake_reranker(
        name="qwen-8b", fallback="default", fault=UnavailableError("It cannot be reached.")
    )
    stand_in = fake_reranker(scores=[0.1, 0.2, 0.3, 0.4, 0.5])
    answer = await harbour.service(chosen, stand_in).search(request(rerank_model="qwen-8b"))
    assert (answer.reranker_used, answer.score_kind) == ("default", "rerank")
    assert codes(answer) == ["reranker_fallback"]
    assert "qwen-8b" in answer.warnings[0].message
    assert "It cannot be reached." in answer.warnings[0].message
    assert answer.degraded


async def test_a_search_may_wait_less_than_its_reranker_may_take(
    harbour: Any, fake_reranker: Any
) -> None:
    """B071."""
    service = harbour.service(fake_reranker(delay_s=60, timeout_s=60), rerank_timeout_s=0.05)
    answer = await asyncio.wait_for(service.search(request()), 5)
    assert codes(answer) == ["rerank_timeout"]
    assert answer.total == 5


async def test_after_repeated_failures_searches_no_longer_wait(
    harbour: Any, fake_reranker: Any
) -> None:
    """B071: the dead server costs the first callers their time, not everyone."""
    reranker = fake_reranker(delay_s=60, timeout_s=0.05)
    service = harbour.service(reranker)
    for _ in range(3):
        assert codes(await service.search(request())) == ["rerank_timeout"]
    answer = await service.search(request())
    assert codes(answer) == ["rerank_unavailable"]
    assert answer.degraded
    assert reranker.asked == 3
    assert answer.timings_ms.rerank < 50


async def test_without_any_reranker_only_those_who_ask_are_told_how_to_get_one(
    harbour: Any,
) -> None:
    service = harbour.service()
    assert codes(await service.search(request())) == []
    for asks in ({"rerank": True}, {"rerank_model": "default"}):
        answer = await service.search(request(**asks))
        assert codes(answer) == ["rerank_unavailable"]
        assert "RAGBASE_RERANK_MODEL" in answer.warnings[0].message
        assert not answer.degraded
