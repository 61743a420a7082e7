"""What a search body accepts, coerces and refuses (contract §2, §5)."""

from __future__ import annotations

import json
import math
from dataclasses import fields
from typing import Any

import pytest
from pydantic import ValidationError

from ragbase.models.search import (
    EmbedRequest,
    RrfFusion,
    SearchRequest,
    SearchResponse,
    SearchRow,
    Timings,
    WeightedFusion,
)


def request(**fields: Any) -> SearchRequest:
    return SearchRequest.model_validate_json(json.dumps({"query": "q", **fields}))


def test_defaults_are_the_contracts() -> None:
    found = request()
    assert found.top_k == 20
    assert found.rerank is True
    assert found.rerank_candidates == 50
    assert found.min_score == 0.0
    assert found.include_graph is True
    assert found.rerank_model is None
    assert found.offset == 0
    assert found.candidates == 200
    assert found.fusion is None
    assert found.filter is None
    assert found.model_fields_set == {"query"}


def test_unknown_fields_are_ignored_and_numeric_strings_become_numbers() -> None:
    found = request(top_k="7", min_score="0.25", candidates="50", rerank="false", nonsense=[1])
    assert (found.top_k, found.min_score, found.candidates, found.rerank) == (7, 0.25, 50, False)
    assert not hasattr(found, "nonsense")


@pytest.mark.parametrize(
    "name", ["top_k", "rerank", "rerank_candidates", "min_score", "include_graph", "query"]
)
def test_null_is_refused_where_the_default_is_not_null(name: str) -> None:
    with pytest.raises(ValidationError):
        request(**{name: None})


@pytest.mark.parametrize("name", ["offset", "candidates", "explain"])
def test_null_is_refused_for_added_fields_too(name: str) -> None:
    with pytest.raises(ValidationError):
        request(**{name: None})


@pytest.mark.parametrize(
    "name", ["rerank_model", "filter", "fusion", "collection", "group_by", "min_rerank_score"]
)
def test_null_means_left_out_where_the_default_is_null(name: str) -> None:
    assert getattr(request(**{name: None}), name) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"query": ""},
        {"query": 5},
        {"top_k": 0},
        {"top_k": 101},
        {"top_k": 1.5},
        {"top_k": "many"},
        {"rerank_candidates": 0},
        {"rerank_candidates": 201},
        {"min_score": -0.1},
        {"min_score": 1.1},
        {"min_score": "nan"},
        {"min_rerank_score": 2},
        {"offset": -1},
        {"candidates": 0},
        {"candidates": 1001},
        {"collections": []},
        {"collection": "a", "collections": ["b"]},
        {"filter": []},
        {"filter": "year > 3"},
        {"fusion": "rrf"},
        {"fusion": {"method": "weighted", "weights": {"semantic": 0}}},
        {"group_by": "title"},
    ],
)
def test_bodies_out_of_range_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        request(**fields)


def test_not_a_number_is_refused() -> None:
    for name in ("min_score", "min_rerank_score"):
        with pytest.raises(ValidationError):
            SearchRequest.model_validate({"query": "q", name: math.nan})


def test_fusion_is_told_apart_by_its_method() -> None:
    assert request(fusion={"method": "rrf", "k": "10"}).fusion == RrfFusion(k=10)
    weights = {"semantic": 0.7, "keyword": 0.3}
    found = request(fusion={"method": "weighted", "weights": weights}).fusion
    assert found == WeightedFusion(method="weighted", weights={"semantic": 0.7, "keyword": 0.3})


def test_every_field_is_described() -> None:
    for model in (SearchRequest, SearchResponse):
        schema = model.model_json_schema()
        for name in schema["properties"]:
            if name not in ("results", "score_kind", "warnings", "timings_ms"):
                assert schema["properties"][name].get("description"), name


def test_the_examples_are_valid() -> None:
    for example in SearchRequest.model_json_schema()["examples"]:
        SearchRequest.model_validate(example)


def test_rows_and_answers_have_the_agreed_keys() -> None:
    assert [field.name for field in fields(SearchRow)] == [
        *("chunk_id", "document_id", "document_title", "content", "score", "sources"),
        *("collection", "external_id", "metadata", "chunk_index", "start", "end"),
        *("highlights", "explain"),
    ]
    assert list(SearchResponse.model_fields) == [
        *("query", "results", "total", "retrievers_used", "score_kind", "reranker_used"),
        *("warnings", "degraded", "timings_ms"),
    ]
    assert list(Timings.model_fields) == [
        *("embed", "lexical", "semantic", "graph", "fuse", "rerank", "total")
    ]


def test_embed_takes_a_list_of_texts() -> None:
    assert EmbedRequest.model_validate({"inputs": ["a", ""]}).inputs == ["a", ""]
    wrong: list[dict[str, Any]] = [{"inputs": "a"}, {"inputs": []}, {"inputs": [1]}, {}]
    for raw in wrong:
        with pytest.raises(ValidationError):
            EmbedRequest.model_validate(raw)
