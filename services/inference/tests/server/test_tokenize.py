"""POST /tokenize and /decode, on MiniLM's tokens."""

from __future__ import annotations

from typing import Any

import pytest

from ..scripted import Scripted
from .background import asking
from .conftest import Serve
from .live import Live


def test_tokens_with_offsets_in_bytes(minilm_server: Live) -> None:
    (tokens,) = minilm_server.post("/tokenize", {"inputs": "Hello wörld 世界"}).json()
    assert tokens[0] == {"id": 101, "text": "[CLS]", "special": True, "start": None, "stop": None}
    assert tokens[2] == {"id": 2088, "text": "wörld", "special": False, "start": 6, "stop": 12}
    assert [(token["text"], token["start"], token["stop"]) for token in tokens[3:5]] == [
        ("世", 13, 16),
        ("界", 16, 19),
    ]


def test_special_tokens_can_be_left_out(minilm_server: Live) -> None:
    body = {"inputs": ["hello", "hello world"], "add_special_tokens": False}
    assert [
        [token["id"] for token in tokens] for tokens in minilm_server.post("/tokenize", body).json()
    ] == [[7592], [7592, 2088]]


def test_nothing_is_cut(minilm_server: Live) -> None:
    (tokens,) = minilm_server.post("/tokenize", {"inputs": "word " * 600}).json()
    assert len(tokens) == 602


def test_ids_become_text(minilm_server: Live) -> None:
    ids = [101, 7592, 2088, 102]
    assert minilm_server.post("/decode", {"ids": ids}).json() == ["hello world"]
    assert minilm_server.post("/decode", {"ids": [ids, [7592]]}).json() == ["hello world", "hello"]
    shown = minilm_server.post("/decode", {"ids": ids, "skip_special_tokens": False}).json()
    assert shown == ["[CLS] hello world [SEP]"]


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/tokenize", {"inputs": []}, 400),
        ("/tokenize", {"inputs": ["a", ""]}, 400),
        ("/tokenize", {"inputs": ["a"] * 33}, 422),
        ("/decode", {"ids": []}, 400),
        ("/decode", {"ids": [[]]}, 400),
        ("/decode", {"ids": [99_999]}, 422),
        ("/decode", {"ids": [-1]}, 422),
        ("/decode", {"ids": [[1]] * 33}, 422),
    ],
)
def test_what_cannot_be_is_refused(minilm_server: Live, path: str, body: Any, status: int) -> None:
    assert minilm_server.post(path, body).status_code == status
    assert minilm_server.get("/health").status_code == 200


def test_tokens_take_no_permit_and_do_not_wait_for_the_model(serve: Serve, model: Scripted) -> None:
    live = serve(max_concurrent_requests=1)
    model.hold()
    with asking(live, "/embed", {"inputs": "a"}):
        assert model.busy.wait(10)
        assert live.post("/tokenize", {"inputs": ["a", "b"]}).status_code == 200
        assert live.post("/embed", {"inputs": "a"}).status_code == 429
        model.release()


def test_a_default_prompt_is_part_of_the_tokens(serve: Serve) -> None:
    """Clients tell by it that the server prepends a text of its own."""
    live = serve(default_prompt="the ")
    (tokens,) = live.post("/tokenize", {"inputs": "cat"}).json()
    assert [token["text"] for token in tokens[1:-1]] == ["the", "cat"]
