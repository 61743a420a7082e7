"""Measures against values worked out by hand."""

from __future__ import annotations

from math import log2

import pytest

from ragbase.evaluation.measures import MEASURES, average, document_ranking, score_queries


def test_ndcg_uses_linear_gain() -> None:
    scores = score_queries({"q": ["minor", "major"]}, {"q": {"major": 2, "minor": 1}})
    expected = (1 / log2(2) + 2 / log2(3)) / (2 / log2(2) + 1 / log2(3))
    assert scores["q"]["nDCG@10"] == pytest.approx(expected, abs=1e-6)


def test_ndcg_counts_ten_ranks() -> None:
    ranking = [f"wrong{rank}" for rank in range(10)] + ["right"]
    scores = score_queries({"q": ranking}, {"q": {"right": 1}})["q"]
    assert scores["nDCG@10"] == 0
    assert scores["R@10"] == 0
    assert scores["R@50"] == 1
    assert scores["RR"] == pytest.approx(1 / 11)


def test_recall_success_and_reciprocal_rank() -> None:
    ranking = ["x1", "x2", "a", "x3", "x4", "b"]
    scores = score_queries({"q": ranking}, {"q": {"a": 1, "b": 1, "c": 1, "x1": 0}})["q"]
    assert scores["R@10"] == pytest.approx(2 / 3)
    assert scores["RR"] == pytest.approx(1 / 3)
    assert scores["hit@1"] == 0
    assert scores["hit@5"] == 1


def test_all_at_10_wants_every_relevant_document() -> None:
    qrels = {"whole": {"a": 1, "b": 2, "c": 0}, "half": {"a": 1, "b": 1}}
    scores = score_queries({"whole": ["b", "a"], "half": ["a", "c"]}, qrels)
    assert scores["whole"]["All@10"] == 1
    assert scores["half"]["All@10"] == 0


def test_order_is_the_rankings_not_the_ids() -> None:
    """Equal scores would be ordered by document id; ranks never are."""
    for ranking in (["a", "z"], ["z", "a"]):
        scores = score_queries({"q": ranking}, {"q": {ranking[0]: 1}})
        assert scores["q"]["hit@1"] == 1


def test_an_empty_ranking_scores_nothing() -> None:
    scores = score_queries({"none": [], "some": ["a"]}, {"none": {"a": 1}, "some": {"a": 1}})
    assert scores["none"] == dict.fromkeys(MEASURES, 0.0)
    assert average(scores.values())["RR"] == 0.5


def test_only_empty_rankings() -> None:
    assert score_queries({"q": []}, {"q": {"a": 1}}) == {"q": dict.fromkeys(MEASURES, 0.0)}


def test_a_document_stands_where_its_best_chunk_stands() -> None:
    assert document_ranking(["b", "a", "b", "c", "a"]) == ["b", "a", "c"]


def test_average_of_nothing_is_empty() -> None:
    assert average([]) == {}
