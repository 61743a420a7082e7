"""What a search answers: rows, what ran, what did not, and why."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ragbase.errors import (
    DatabaseUnavailableError,
    InvalidInputError,
    NotFoundError,
    OverloadedError,
    UnavailableError,
)
from ragbase.models.domain import Hit
from ragbase.models.search import SearchRequest, SearchResponse
from ragbase.telemetry.metrics import REGISTRY


def request(query: str = "north quay ships", **fields: Any) -> SearchRequest:
    return SearchRequest.model_validate({"query": query, **fields})


def titles(answer: SearchResponse) -> list[str]:
    return [row.document_title for row in answer.results]


def codes(answer: SearchResponse) -> list[str]:
    return [warning.code for warning in answer.warnings]


# The answer


async def test_hybrid_names_both_arms_and_tags_the_rows(harbour: Any) -> None:
    answer = await harbour.service().search(request())
    assert answer.retrievers_used == ["semantic", "keyword"]
    assert answer.score_kind == "rrf"
    assert answer.total == len(answer.results) == 5
    best = answer.results[0]
    assert best.sources == ["semantic", "keyword"]
    assert 1 / 61 < best.score <= 2 / 61
    assert "Recipes" not in [
        row.document_title for row in answer.results if "keyword" in row.sources
    ]
    assert (answer.degraded, answer.warnings, answer.reranker_used) == (False, [], None)


async def test_a_row_tells_where_its_chunk_stands(harbour: Any) -> None:
    answer = await harbour.service().keyword(request("mooring fees", top_k=1))
    row = answer.results[0]
    assert row.document_title == "Harbour rules"
    assert row.content == "Captains pay the mooring fee at noon."
    assert (row.chunk_index, row.collection, row.external_id) == (1, "default", "rules.md")
    assert row.metadata == {"year": 2024, "tags": ["rules", "fees"]}
    assert row.start == len("Ships moor at the north quay.") + 2
    assert row.end == row.start + len(row.content)
    marked = [row.content[span.start : span.end] for span in row.highlights]
    assert marked == ["mooring", "fee"]
    assert row.explain is None


async def test_single_arms_give_their_own_scores_and_name_themselves(harbour: Any) -> None:
    service = harbour.service()
    semantic = await service.semantic(request("The north quay was repaired in spring."))
    assert semantic.retrievers_used == ["semantic"]
    assert semantic.score_kind == "cosine"
    assert titles(semantic)[0] == "Quay repairs"
    assert 0.8 < semantic.results[0].score <= 1
    keyword = await service.keyword(request("rice"))
    assert (keyword.retrievers_used, keyword.score_kind) == (["keyword"], "bm25")
    assert titles(keyword) == ["Recipes"]
    assert keyword.results[0].sources == ["keyword"]
    empty = await service.keyword(request("zeppelin"))
    assert (empty.results, empty.total, empty.retrievers_used) == ([], 0, ["keyword"])


async def test_an_arm_that_found_nothing_is_not_named_by_hybrid(harbour: Any) -> None:
    answer = await harbour.service().search(request("zeppelin"))
    assert answer.retrievers_used == ["semantic"]
    nothing = await harbour.service().search(request("zeppelin", min_score=1.0))
    assert (nothing.results, nothing.retrievers_used) == ([], [])


async def test_the_answer_is_valid_by_its_own_schema(harbour: Any) -> None:
    answer = await harbour.service().search(request(explain=True))
    again = SearchResponse.model_validate_json(answer.model_dump_json())
    assert again == answer
    assert answer.query == "north quay ships"


async def test_timings_cover_the_stages_that_ran(harbour: Any) -> None:
    harbour.embedder.delay_s = 0.02
    timings = (await harbour.service().search(request())).timings_ms
    assert timings.embed >= 20
    assert timings.total >= timings.embed
    assert min(timings.lexical, timings.semantic, timings.fuse) > 0
    assert (timings.graph, timings.rerank) == (0, 0)


async def test_the_same_query_gives_the_same_answer(harbour: Any) -> None:
    """R37."""
    first, second = [await harbour.service().search(request()) for _ in range(2)]
    assert first.results == second.results


async def test_explain_gives_rank_and_score_of_each_stage(harbour: Any) -> None:
    answer = await harbour.service().search(request(explain=True))
    for position, row in enumerate(answer.results, 1):
        assert row.explain is not None
        assert row.explain["fused"].rank == position
        assert row.explain["fused"].score == row.score
        assert set(row.explain) == {*row.sources, "fused"}
        assert row.score == pytest.approx(
            sum(1 / (60 + row.explain[arm].rank) for arm in row.sources)
        )
    single = await harbour.service().keyword(request(explain=True))
    assert [row.explain["keyword"].rank for row in single.results if row.explain] == [1, 2, 3]


# Arms that fail


async def test_keyword_search_needs_no_embedder(harbour: Any) -> None:
    harbour.embedder.down = True
    service = harbour.service()
    assert titles(await service.keyword(request()))
    answer = await service.search(request())
    assert codes(answer) == ["semantic_unavailable"]
    assert answer.warnings[0].stage == "semantic"
    assert answer.degraded
    assert answer.retrievers_used == ["keyword"]
    with pytest.raises(UnavailableError) as caught:
        await service.semantic(request())
    assert (caught.value.status, caught.value.code) == (503, "embedder_unavailable")


async def test_a_slow_arm_costs_its_budget_and_no_more(harbour: Any) -> None:
    harbour.embedder.delay_s = 60
    service = harbour.service(settings={"search_timeout_s": 0.1})
    answer = await asyncio.wait_for(service.search(request()), 5)
    assert codes(answer) == ["semantic_timeout"]
    assert answer.degraded
    assert titles(answer)


async def test_a_fault_in_an_arm_is_told_without_its_text(harbour: Any, fake_arm: Any) -> None:
    """R15: logged, counted, flagged."""
    broken = fake_arm("semantic", fault=ZeroDivisionError("secret detail"))
    answer = await harbour.service(semantic=broken).search(request())
    assert codes(answer) == ["semantic_unavailable"]
    assert "secret" not in answer.warnings[0].message


async def test_all_arms_failing_is_an_error(harbour: Any, fake_arm: Any) -> None:
    """R15: a database that is down is no empty answer."""
    down = DatabaseUnavailableError("The database is not available.")
    service = harbour.service(
        semantic=fake_arm("semantic", fault=down), keyword=fake_arm("keyword", fault=down)
    )
    for search in (service.search, service.keyword, service.semantic):
        with pytest.raises(UnavailableError) as caught:
            await search(request())
        assert (caught.value.status, caught.value.code) == (503, "database_unavailable")


async def test_an_embedder_that_is_full_asks_to_wait(harbour: Any, fake_arm: Any) -> None:
    full = fake_arm("semantic", fault=OverloadedError("Too many queries wait.", retry_after=3))
    service = harbour.service(semantic=full)
    assert codes(await service.search(request())) == ["semantic_unavailable"]
    with pytest.raises(OverloadedError) as caught:
        await service.semantic(request())
    assert caught.value.retry_after == 3


async def test_degraded_answers_are_counted_by_reason(harbour: Any) -> None:
    def count() -> float:
        labels = {"reason": "semantic_unavailable"}
        return REGISTRY.get_sample_value("ragbase_degraded_total", labels) or 0.0

    harbour.embedder.down = True
    before = count()
    await harbour.service().search(request())
    assert count() == before + 1


async def test_stages_are_observed_by_mode(harbour: Any) -> None:
    def count(stage: str, mode: str) -> float:
        labels = {"stage": stage, "mode": mode}
        name = "ragbase_search_stage_seconds_count"
        return REGISTRY.get_sample_value(name, labels) or 0.0

    before = count("lexical", "keyword"), count("embed", "hybrid")
    await harbour.service().keyword(request())
    await harbour.service().search(request())
    assert (count("lexical", "keyword"), count("embed", "hybrid")) == (before[0] + 1, before[1] + 1)


async def test_a_chunk_that_is_gone_by_now_is_left_out(harbour: Any, fake_arm: Any) -> None:
    ghost = fake_arm("semantic", hits=[Hit(999_999, 0.9)])
    answer = await harbour.service(semantic=ghost).search(request())
    assert titles(answer)
    assert answer.total == len(answer.results)
    assert 999_999 not in [row.chunk_id for row in answer.results]


# Queries


@pytest.mark.parametrize("query", ["the who", "to be or not to be", "it", "?!", " "])
async def test_queries_without_telling_words_are_answered_by_the_semantic_arm(
    harbour: Any, query: str
) -> None:
    """B035."""
    answer = await harbour.service().search(request(query))
    assert "semantic" in answer.retrievers_used
    assert not answer.degraded
    await harbour.service().keyword(request(query))


@pytest.mark.parametrize(
    "query",
    [
        "C++",
        "(1)23",
        "[x",
        "{y",
        "^z",
        "~q",
        "a/b",
        "<tag",
        "x'); DROP TABLE chunks; --",
        "%",
        "\\",
    ],
)
async def test_operators_are_plain_text(harbour: Any, query: str) -> None:
    """B031, B037."""
    await harbour.service().search(request(query))
    assert (await harbour.service().keyword(request("rice"))).total == 1


async def test_a_query_that_cannot_be_stored_is_refused(harbour: Any) -> None:
    """B001."""
    with pytest.raises(InvalidInputError) as caught:
        await harbour.service().search(request("a\x00b"))
    assert (caught.value.code, caught.value.field) == ("invalid_text", "query")


async def test_a_query_over_the_limit_is_refused_with_the_limit(harbour: Any) -> None:
    service = harbour.service(settings={"max_query_chars": 10})
    await service.search(request("x" * 10))
    with pytest.raises(InvalidInputError, match="10") as caught:
        await service.search(request("x" * 11))
    assert caught.value.field == "query"


async def test_a_cut_query_is_told(harbour: Any) -> None:
    harbour.embedder.truncates = True
    answer = await harbour.service().search(request())
    assert codes(answer) == ["query_truncated"]
    assert not answer.degraded


async def test_normal_forms_of_a_query_find_the_same(world: Any) -> None:
    await world.add("Menu", "Caf\u00e9 au lait.")
    found = [(await world.service().search(request(q))).results for q in ("café", "cafe\u0301")]
    assert found[0] == found[1]
    assert len(found[0]) == 1


async def test_no_connection_is_held_while_the_query_is_embedded(harbour: Any) -> None:
    """B061."""
    harbour.embedder.delay_s = 0.2
    searching = asyncio.create_task(harbour.service().semantic(request()))
    await asyncio.sleep(0.1)
    assert harbour.embedder.asked
    assert harbour.database.in_use == 0
    assert titles(await searching)


# What is not configured


async def test_what_is_absent_is_told_only_when_asked_for(harbour: Any) -> None:
    service = harbour.service()
    assert codes(await service.search(request())) == []
    named = await service.search(request(rerank=True, include_graph=True))
    assert sorted(codes(named)) == ["graph_unavailable", "rerank_unavailable"]
    assert not named.degraded
    assert codes(await service.search(request(rerank_model="default"))) == ["rerank_unavailable"]
    assert codes(await service.search(request(rerank=False, include_graph=False))) == []
    assert codes(await service.keyword(request(rerank=True, include_graph=True))) == []


async def test_unknown_rerankers_are_refused(harbour: Any) -> None:
    with pytest.raises(InvalidInputError, match="qwen-8b"):
        await harbour.service().search(request(rerank_model="large"))


async def test_a_configured_graph_arm_joins_the_others(harbour: Any, fake_arm: Any) -> None:
    found = (await harbour.service().search(request("rice"))).results[0]
    graph = fake_arm("graph", hits=[Hit(found.chunk_id, 0.5)])
    service = harbour.service(graph=graph)
    answer = await service.search(request("rice", min_score=0.25))
    assert answer.retrievers_used == ["semantic", "keyword", "graph"]
    assert "graph" in answer.results[0].sources
    assert graph.asked[0].min_score == 0.25
    without = await service.search(request("rice", include_graph=False))
    assert "graph" not in without.retrievers_used
    assert len(graph.asked) == 1


# Fusion


async def test_weights_order_the_rows_and_choose_the_arms(harbour: Any, fake_arm: Any) -> None:
    one, two = (await harbour.service().search(request())).results[:2]
    semantic = fake_arm(
        "semantic",
        hits=[Hit(one.chunk_id, 0.8), Hit(two.chunk_id, 0.2)],
    )
    keyword = fake_arm(
        "keyword",
        hits=[Hit(two.chunk_id, 8.0), Hit(one.chunk_id, 2.0)],
    )
    service = harbour.service(semantic=semantic, keyword=keyword)

    async def search(**weights: float) -> SearchResponse:
        fusion = {"method": "weighted", "weights": weights}
        answer: SearchResponse = await service.search(request(fusion=fusion))
        return answer

    answer = await search(semantic=1, keyword=3)
    assert answer.score_kind == "weighted"
    assert [(row.chunk_id, row.score) for row in answer.results] == [
        (two.chunk_id, 0.75 + 0.25 * 0.25),
        (one.chunk_id, 0.25 + 0.75 * 0.25),
    ]
    alone = await search(semantic=1)
    assert [row.chunk_id for row in alone.results] == [one.chunk_id, two.chunk_id]
    assert alone.retrievers_used == ["semantic"]
    assert len(keyword.asked) == 1
    with pytest.raises(UnavailableError):
        await search(graph=1)


async def test_an_arm_without_weight_is_not_asked(harbour: Any) -> None:
    fusion = {"method": "weighted", "weights": {"keyword": 1}}
    answer = await harbour.service().search(request(fusion=fusion))
    assert answer.retrievers_used == ["keyword"]
    assert harbour.embedder.asked == []
    assert titles(await harbour.service().semantic(request(fusion=fusion)))


async def test_a_collection_may_have_its_own_fusion(world: Any) -> None:
    fusion = {"method": "weighted", "weights": {"semantic": 0.5, "keyword": 0.5}}
    await world.collection("papers", fusion=fusion)
    await world.collection("notes")
    for name in ("papers", "notes"):
        await world.add("Title", "Some text.", collection=name)
    service = world.service()

    async def kind(**fields: Any) -> str:
        answer: SearchResponse = await service.search(request("text", **fields))
        return answer.score_kind

    assert await kind(collection="papers") == "weighted"
    assert await kind(collection="notes") == "rrf"
    assert await kind(collections=["papers", "notes"]) == "rrf"
    assert await kind(collection="papers", fusion={"method": "rrf"}) == "rrf"


# Collections and filters


async def test_collections_are_searched_alone_or_together(world: Any) -> None:
    await world.collection("papers")
    await world.add("One", "A harbour in the north.")
    await world.add("Two", "A harbour in the south.", collection="papers")
    service = world.service()
    assert titles(await service.search(request("harbour"))) == ["One"]
    assert titles(await service.search(request("harbour", collection="papers"))) == ["Two"]
    both = await service.search(request("harbour", collections=["papers", "default", "papers"]))
    assert sorted((row.document_title, row.collection) for row in both.results) == [
        ("One", "default"),
        ("Two", "papers"),
    ]


async def test_embedding_ends_with_the_search_that_wanted_it(harbour: Any) -> None:
    harbour.embedder.delay_s = 60
    before = asyncio.all_tasks()
    with pytest.raises(NotFoundError):
        await asyncio.wait_for(harbour.service().search(request(collection="nowhere")), 5)
    await asyncio.sleep(0.1)  # connections are given back behind the caller's back
    assert asyncio.all_tasks() == before
    harbour.embedder.delay_s, harbour.embedder.down = 0.0, True
    with pytest.raises(NotFoundError):
        await harbour.service().search(request(collection="nowhere"))


@pytest.mark.parametrize("name", ["nowhere", "No Such", "a\x00b", "", "x" * 64, "é"])
async def test_a_collection_that_is_not_there_is_not_found(world: Any, name: str) -> None:
    for fields in ({"collection": name}, {"collections": ["default", name]}):
        with pytest.raises(NotFoundError) as caught:
            await world.service().search(request(**fields))
        assert caught.value.code == "collection_not_found"


async def test_each_language_is_searched_and_marked_by_its_own_terms(world: Any) -> None:
    await world.collection("deutsch", language="german")
    await world.add("English", "Two houses.")
    await world.add("Deutsch", "Zwei Häuser.", collection="deutsch")
    service = world.service()
    answer = await service.keyword(request("house Haus", collections=["default", "deutsch"]))
    marks = {
        row.document_title: [row.content[s.start : s.end] for s in row.highlights]
        for row in answer.results
    }
    assert marks == {"English": ["houses"], "Deutsch": ["Häuser"]}
    assert [row.score for row in answer.results] == sorted(
        (row.score for row in answer.results), reverse=True
    )


async def test_a_filter_holds_in_every_arm(harbour: Any) -> None:
    """B041, B043, B045."""
    service = harbour.service()

    async def found(raw: Any) -> list[set[str]]:
        searches = (service.search, service.semantic, service.keyword)
        return [set(titles(await search(request(filter=raw)))) for search in searches]

    everything = await found(None)
    assert await found({}) == everything
    assert await found({"year": {"in": []}}) == [set()] * 3
    assert (
        await found({"year": {"gte": 2020}, "not": {"tags": "rules"}})
        == [{"Quay repairs", "Weather log"}] * 3
    )
    assert await found({"year": "2024"}) == [set()] * 3
    assert await found({"@external_id": "rules.md"}) == [{"Harbour rules"}] * 3
    assert await found({"tags": {"contains": "fees"}}) == [{"Harbour rules"}] * 3
    assert await found({"tags": {"gt": "a"}}) == [set()] * 3
    assert await found({"@title": {"contains": "Quay"}}) == [{"Quay repairs"}] * 3


async def test_a_wrong_filter_is_refused_on_every_route(harbour: Any) -> None:
    service = harbour.service()
    for search in (service.search, service.semantic, service.keyword):
        with pytest.raises(InvalidInputError) as caught:
            await search(request(filter={"year": {"above": 3}}))
        assert (caught.value.code, caught.value.field) == ("invalid_filter", "filter.year")


# Settings


async def test_the_servers_defaults_hold_where_the_request_is_silent(harbour: Any) -> None:
    """R17."""
    service = harbour.service(settings={"default_search_top_k": 2, "default_min_score": 0.99})
    assert (await service.keyword(request())).total == 2
    assert (await service.semantic(request())).total == 0
    assert (await service.semantic(request(min_score=0.0))).total == 2
    assert (await service.keyword(request(top_k=20))).total == 3
