"""POST /v1/ner."""

from __future__ import annotations

from typing import Any

import pytest

from ..scripted import Scripted
from .conftest import Serve
from .live import Live


@pytest.fixture
def recogniser(serve: Serve, model: Scripted) -> Live:
    model.kind = "ner"
    return serve()


def test_spans_of_each_text_in_code_points(recogniser: Live) -> None:
    body = {"texts": ["😀 a ship", "none"], "labels": ["ship", "quay"], "threshold": 0.3}
    answer = recogniser.post("/v1/ner", body).json()
    assert answer["model"] == "test/scripted"
    assert answer["results"] == [
        {
            "index": 0,
            "spans": [{"start": 4, "end": 8, "text": "ship", "label": "ship", "score": 0.75}],
        },
        {"index": 1, "spans": []},
    ]


def test_a_lone_text_is_a_list_of_one(recogniser: Live, model: Scripted) -> None:
    body = {"texts": "a ship", "labels": ["ship", "ship"]}
    answer = recogniser.post("/v1/ner", body).json()
    assert len(answer["results"]) == 1
    assert model.batches[0][0].labels == ("ship",)
    assert model.batches[0][0].threshold == 0.5


def test_the_threshold_reaches_the_model(recogniser: Live) -> None:
    body = {"texts": "a ship", "labels": ["ship"], "threshold": 0.9}
    assert recogniser.post("/v1/ner", body).json()["results"][0]["spans"] == []


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"texts": [], "labels": ["a"]}, 400),
        ({"texts": ["a", ""], "labels": ["a"]}, 400),
        ({"texts": ["a"] * 33, "labels": ["a"]}, 422),
        ({"texts": "a", "labels": []}, 422),
        ({"texts": "a", "labels": [""]}, 422),
        ({"texts": "a", "labels": ["a"], "threshold": 1.5}, 422),
        ({"texts": "a", "labels": ["a"], "threshold": "0.5"}, 422),
        ({"texts": "a"}, 422),
    ],
)
def test_what_cannot_be_is_refused(recogniser: Live, body: Any, status: int) -> None:
    assert recogniser.post("/v1/ner", body).status_code == status


def test_the_root_looks_for_entities(recogniser: Live) -> None:
    answer = recogniser.post("/", {"texts": "a ship", "labels": ["ship"]})
    assert answer.json()["results"][0]["spans"][0]["start"] == 2


def test_other_models_find_no_entities(minilm_server: Live) -> None:
    answer = minilm_server.post("/v1/ner", {"texts": "a", "labels": ["b"]})
    assert answer.json() == {
        "message": "Backend error: Model is not a named entity recognition model",
        "code": 424,
        "type": "Backend",
    }
