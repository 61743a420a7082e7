"""Prompts: the request's, the server's, the model's own."""

from __future__ import annotations

from typing import Any

import pytest

from ..scripted import Scripted
from .conftest import Serve
from .live import Live

PROMPTS = {"query": "the ", "document": "cat "}


def vector(live: Live, text: str, **options: Any) -> Any:
    return live.post("/embed", {"inputs": text, **options}).json()[0]


@pytest.mark.parametrize(
    ("options", "own", "request_", "said"),
    [
        ({}, None, {}, ""),
        ({}, None, {"prompt_name": "query"}, "the "),
        ({}, "document", {}, "cat "),
        ({"default_prompt": "b "}, "document", {}, "b "),
        ({"default_prompt_name": "query"}, "document", {}, "the "),
        ({"default_prompt": "b "}, None, {"prompt_name": "document"}, "cat "),
    ],
)
def test_the_nearest_prompt_wins(
    serve: Serve, model: Scripted, options: Any, own: str | None, request_: Any, said: str
) -> None:
    plain = vector(serve(), said + "x")
    model.prompts, model.default_prompt = PROMPTS, own
    live = serve(**options)
    assert vector(live, "x", **request_) == plain
    headers = live.post("/embed", {"inputs": "x", **request_}).headers
    assert headers["x-compute-characters"] == "1"  # a prompt counts in tokens alone
    assert headers["x-compute-tokens"] == str(3 + bool(said))


def test_an_unknown_prompt_names_those_there_are(serve: Serve, model: Scripted) -> None:
    model.prompts = PROMPTS
    answer = serve().post("/embed", {"inputs": "x", "prompt_name": "other"})
    assert answer.status_code == 422
    assert "Available prompts: ['document', 'query']" in answer.json()["error"]


def test_the_servers_default_goes_for_v1_too(serve: Serve) -> None:
    live = serve(default_prompt="the ")
    answer = live.post("/v1/embeddings", {"input": "x"}).json()
    assert answer["usage"]["prompt_tokens"] == 4
