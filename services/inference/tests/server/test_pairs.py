"""POST /rerank, /v1/rerank and /predict, on models whose logits are known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from ragbase_inference.scores import sigmoid as stable_sigmoid
from ragbase_inference.server.settings import ServerSettings
from ragbase_inference.tokens import TextTokenizer

from ..scripted import Scripted
from .live import Live, serving

TEXTS = ["b", "a", "a a", "b b", "a"]
"""Logits 0, 1, 2, 0, 1, for a query without a."""


@pytest.fixture(scope="module")
def reranker(tokenizer: TextTokenizer) -> Iterator[Live]:
    with serving(
        ServerSettings(model_id="test/scripted"), lambda _: Scripted(tokenizer, "reranker")
    ) as live:
        yield live


@pytest.fixture(scope="module")
def classifier(tokenizer: TextTokenizer) -> Iterator[Live]:
    labels = ("good", "fair", "bad")
    with serving(ServerSettings(), lambda _: Scripted(tokenizer, "classifier", labels)) as live:
        yield live


def sigmoid(value: float) -> float:
    return float(1 / (1 + np.exp(-value)))


def test_texts_come_by_score_and_equal_ones_by_index(reranker: Live) -> None:
    """text-embeddings-inference gives equal ones in descending order of their index."""
    answer = reranker.post("/rerank", {"query": "q", "texts": TEXTS}).json()
    assert [one["index"] for one in answer] == [2, 1, 4, 0, 3]
    np.testing.assert_allclose(
        [one["score"] for one in answer], [sigmoid(n) for n in (2, 1, 1, 0, 0)], rtol=1e-6
    )
    assert list(answer[0]) == ["index", "score"]


def test_logits_on_demand(reranker: Live) -> None:
    answer = reranker.post("/rerank", {"query": "q", "texts": TEXTS, "raw_scores": True}).json()
    assert [one["score"] for one in answer] == [2.0, 1.0, 1.0, 0.0, 0.0]


def test_texts_on_demand(reranker: Live) -> None:
    answer = reranker.post("/rerank", {"query": "q", "texts": TEXTS, "return_text": True}).json()
    assert [one["text"] for one in answer] == ["a a", "a", "a", "b", "b b"]
    assert list(answer[0]) == ["index", "text", "score"]


def test_top_n_is_unknown_to_rerank(reranker: Live) -> None:
    body = {"query": "q", "texts": TEXTS, "top_n": 1}
    assert len(reranker.post("/rerank", body).json()) == 5


def test_the_query_counts_once_a_text(reranker: Live) -> None:
    headers = reranker.post("/rerank", {"query": "q", "texts": ["a", "a a"]}).headers
    assert headers["x-compute-characters"] == "6"
    assert headers["x-compute-tokens"] == str(2 * 4 + 1 + 2)


@pytest.mark.parametrize(("query", "texts"), [("", ["a"]), ("q", [""]), ("q", ["", "a"])])
def test_an_empty_side_of_a_pair_is_a_text(reranker: Live, query: str, texts: Any) -> None:
    answer = reranker.post("/rerank", {"query": query, "texts": texts})
    assert (answer.status_code, len(answer.json())) == (200, len(texts))


def test_two_empty_sides_are_nothing(reranker: Live) -> None:
    answer = reranker.post("/rerank", {"query": "", "texts": ["a", ""]})
    assert (answer.status_code, answer.json()["error_type"]) == (400, "Empty")


@pytest.mark.parametrize("truncate", [None, True, False])
def test_long_pairs_are_cut_unless_told_otherwise(reranker: Live, truncate: Any) -> None:
    body = {"query": "q", "texts": ["b " * 5, "a " * 20], "truncate": truncate}
    answer = reranker.post("/rerank", body)
    if truncate is False:
        assert answer.status_code == 422
        assert answer.json() == {
            "error": "Input validation error: `inputs` must have less than 16 tokens. Given: 24",
            "error_type": "Validation",
        }
    else:
        assert [one["index"] for one in answer.json()] == [1, 0]


@pytest.mark.parametrize(
    ("path", "body", "status", "said"),
    [
        ("/rerank", {"query": "q", "texts": []}, 400, "`texts` cannot be empty"),
        ("/rerank", {"query": "q", "texts": ["a"] * 33}, 422, "batch size 33 > maximum"),
        ("/embed", {"inputs": "a"}, 424, "Backend error: Model is not an embedding model"),
        ("/v1/ner", {"texts": "a", "labels": ["b"]}, 424, "not a named entity recognition"),
    ],
)
def test_what_a_reranker_refuses(
    reranker: Live, path: str, body: Any, status: int, said: str
) -> None:
    answer = reranker.post(path, body)
    assert answer.status_code == status
    assert said in answer.text


@pytest.mark.parametrize(
    "body",
    [
        {"query": "q", "texts": ["a"], "return_text": None},
        {"query": "q", "texts": "a"},
        {"texts": ["a"]},
        {"query": "q", "texts": [1]},
    ],
)
def test_other_shapes_are_refused_in_plain_text(reranker: Live, body: Any) -> None:
    answer = reranker.post("/rerank", body)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"


def test_an_empty_list_is_told_before_the_models_kind(minilm_server: Live) -> None:
    for texts, status in ((["a"], 424), ([], 400)):
        answer = minilm_server.post("/rerank", {"query": "q", "texts": texts})
        assert answer.status_code == status
    answer = minilm_server.post("/rerank", {"query": "q", "texts": ["a"]})
    assert answer.json() == {
        "error": "Backend error: model is not a re-ranker model",
        "error_type": "Backend",
    }


def test_documents_as_jinas_and_coheres_clients_send_them(reranker: Live) -> None:
    body = {
        "model": "anything",
        "query": "q",
        "documents": ["b", {"text": "a a", "title": "ignored"}, "a"],
        "top_n": 2,
        "return_documents": True,
    }
    for path in ("/v1/rerank", "/v2/rerank"):
        answer = reranker.post(path, body).json()
        assert answer["results"] == [
            {"index": n, "relevance_score": pytest.approx(sigmoid(a)), "document": {"text": text}}
            for n, a, text in ((1, 2, "a a"), (2, 1, "a"))
        ]
        assert answer["model"] == "test/scripted"
        assert answer["usage"]["total_tokens"] == 5 + 6 + 5
        assert answer["meta"]["api_version"] == {"version": "1"}


def test_documents_are_left_out_unless_wanted(reranker: Live) -> None:
    answer = reranker.post("/v1/rerank", {"query": "q", "documents": TEXTS}).json()
    assert [set(one) for one in answer["results"]] == [{"index", "relevance_score"}] * 5


@pytest.mark.parametrize("documents", [[], ["a"] * 33])
def test_errors_of_v1_are_flat(reranker: Live, documents: list[str]) -> None:
    answer = reranker.post("/v1/rerank", {"query": "q", "documents": documents})
    assert answer.json()["code"] == answer.status_code == (422 if documents else 400)


def test_labels_come_by_probability(classifier: Live) -> None:
    answer = classifier.post("/predict", {"inputs": "a"}).json()
    assert [one["label"] for one in answer] == ["good", "fair", "bad"]
    wanted = np.exp([1.0, 0.0, -1.0]) / np.exp([1.0, 0.0, -1.0]).sum()
    np.testing.assert_allclose([one["score"] for one in answer], wanted, rtol=1e-6)
    assert classifier.post("/predict", {"inputs": ["a"]}).json() == answer
    assert classifier.post("/", {"inputs": "a"}).json() == answer


def test_two_texts_are_a_pair_and_lists_are_a_batch(classifier: Live) -> None:
    pair = classifier.post("/predict", {"inputs": ["b", "a"], "raw_scores": True})
    assert [one["score"] for one in pair.json()] == [1.0, 0.0, -1.0]
    assert pair.headers["x-compute-tokens"] == "5"
    batch = classifier.post("/predict", {"inputs": [["a"], ["b", "a"]], "raw_scores": True})
    assert [[one["score"] for one in row] for row in batch.json()] == [[1.0, 0.0, -1.0]] * 2


@pytest.mark.parametrize("inputs", [["a", "b", "c"], [[]], [["a", "b", "c"]], 1])
def test_other_numbers_of_texts_are_refused(classifier: Live, inputs: Any) -> None:
    answer = classifier.post("/predict", {"inputs": inputs})
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"


def test_a_reranker_predicts_its_one_label(reranker: Live) -> None:
    (answer,) = reranker.post("/predict", {"inputs": ["q", "a"]}).json()
    assert answer == {"score": pytest.approx(sigmoid(1)), "label": "LABEL_0"}


def test_an_embedding_model_predicts_nothing(minilm_server: Live) -> None:
    answer = minilm_server.post("/predict", {"inputs": "a"})
    assert (answer.status_code, answer.json()) == (
        424,
        {"error": "Backend error: Model is not a classifier model", "error_type": "Backend"},
    )


def test_info_names_the_labels(classifier: Live) -> None:
    assert classifier.get("/info").json()["model_type"] == {
        "classifier": {
            "id2label": {"0": "good", "1": "fair", "2": "bad"},
            "label2id": {"good": 0, "fair": 1, "bad": 2},
        }
    }


def test_extreme_logits_do_not_overflow() -> None:
    with np.errstate(over="raise", invalid="raise"):
        found = stable_sigmoid(np.array([-800.0, 0.0, 800.0], np.float32))
    np.testing.assert_allclose(found, [0.0, 0.5, 1.0], atol=1e-7)
