"""Pages continue one another, and as many rows come back as were asked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
import pytest_asyncio

from ragbase.errors import InvalidInputError
from ragbase.models.search import SearchRequest

CHUNKS = 1100


def request(**fields: Any) -> SearchRequest:
    return SearchRequest.model_validate({"query": "signal 17 report", **fields})


@pytest_asyncio.fixture(scope="session")
async def stored_reports(stored_harbour: Any) -> Any:
    """1,100 chunks in 110 documents of a collection of their own, all alike but for a number."""
    await stored_harbour.collection("reports")
    for document in range(CHUNKS // 10):
        contents = [f"Signal report number {document * 10 + n}" for n in range(10)]
        await stored_harbour.add(f"Report {document}", *contents, collection="reports")
    return stored_harbour


@pytest.fixture
def reports(stored_reports: Any, harbour: Any) -> Any:
    return harbour


async def ids(search: Any, **fields: Any) -> list[int]:
    answer = await search(request(collection="reports", **fields))
    assert answer.total == len(answer.results)
    return [row.chunk_id for row in answer.results]


async def pages(search: Any, offsets: Iterable[int], **fields: Any) -> list[int]:
    return [found for offset in offsets for found in await ids(search, offset=offset, **fields)]


@pytest.mark.parametrize("reranked", [False, True])
@pytest.mark.parametrize(
    "fusion", [None, {"method": "weighted", "weights": {"semantic": 1, "keyword": 1}}]
)
async def test_pages_of_five_are_the_first_twenty(
    reports: Any, fake_reranker: Any, reranked: bool, fusion: Any
) -> None:
    """B047, R14: the reranker's depth does not depend on the page."""
    service = reports.service(*([fake_reranker()] if reranked else []))
    whole = await ids(service.search, top_k=20, rerank_candidates=20, fusion=fusion)
    fields: dict[str, Any] = {"top_k": 5, "rerank_candidates": 20, "fusion": fusion}
    assert await pages(service.search, range(0, 20, 5), **fields) == whole
    assert len(set(whole)) == 20


async def test_pages_go_on_beyond_the_rows_that_were_reranked(
    reports: Any, fake_reranker: Any
) -> None:
    """B047: what the reranker did not see follows in fused order, with score 0."""
    service = reports.service(fake_reranker())
    fields: dict[str, Any] = {"top_k": 10, "rerank_candidates": 25, "collection": "reports"}
    answers = [await service.search(request(offset=n, **fields)) for n in range(0, 60, 10)]
    rows = [row for answer in answers for row in answer.results]
    assert len({row.chunk_id for row in rows}) == 60
    assert all(answer.score_kind == "rerank" for answer in answers)
    scores = [row.score for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert scores[24] > 0
    assert set(scores[25:]) == {0.0}
    fused = await ids(reports.service().search, top_k=60)
    assert [row.chunk_id for row in rows[25:]] == fused[25:60]
    assert sorted(row.chunk_id for row in rows[:25]) == sorted(fused[:25])


@pytest.mark.parametrize("mode", ["search", "semantic", "keyword"])
async def test_single_arms_page_too(reports: Any, mode: str) -> None:
    search = getattr(reports.service(), mode)
    whole = await ids(search, top_k=100)
    assert await pages(search, range(0, 100, 25), top_k=25) == whole
    assert len(set(whole)) == 100


@pytest.mark.parametrize("mode", ["search", "semantic", "keyword"])
async def test_as_many_rows_come_back_as_were_asked_for(reports: Any, mode: str) -> None:
    """B039, R18: also beyond the width of the vector index."""
    search = getattr(reports.service(), mode)
    for offset in (400, 900):
        assert len(await ids(search, top_k=100, offset=offset, candidates=1000)) == 100


async def test_pages_beyond_the_arms_depth_are_refused_with_the_limit(reports: Any) -> None:
    """B039."""
    service = reports.service()
    await ids(service.search, top_k=100, offset=100)
    with pytest.raises(InvalidInputError, match="200") as caught:
        await ids(service.search, top_k=100, offset=101)
    assert caught.value.field == "offset"
    with pytest.raises(InvalidInputError, match="50"):
        await ids(service.search, top_k=60, candidates=50)


async def test_a_small_default_depth_never_refuses_a_plain_request(reports: Any) -> None:
    service = reports.service(settings={"default_candidates": 10})
    assert len(await ids(service.search, top_k=100)) == 100


async def test_top_k_above_the_rerank_candidates_gives_top_k_rows(
    reports: Any, fake_reranker: Any
) -> None:
    """R14."""
    reranker = fake_reranker()
    assert len(await ids(reports.service(reranker).search, top_k=80, rerank_candidates=10)) == 80
    assert len(reranker.read) == 80


@pytest.mark.parametrize("mode", ["search", "semantic", "keyword"])
async def test_grouping_gives_each_document_once_by_its_best_chunk(reports: Any, mode: str) -> None:
    search = getattr(reports.service(), mode)
    every = (await search(request(collection="reports", top_k=100))).results
    best: dict[int, int] = {}
    for row in every:
        best.setdefault(row.document_id, row.chunk_id)
    expected = list(best.values())
    assert 1 < len(expected) < 100
    grouped = await ids(search, top_k=len(expected), group_by="document")
    assert grouped == expected
    assert await pages(search, (0, 2, 4), top_k=2, group_by="document") == expected[:6]
