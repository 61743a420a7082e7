"""Answers of a llama.cpp server are checked: nothing is aligned by chance, no NaN gets through."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

import numpy as np
import pytest

from ragbase_inference.errors import ModelFailedError, NotFiniteError, TextTooLongError
from ragbase_inference.gguf.client import LlamaClient


class Server(ThreadingHTTPServer):
    """Answers every request with ``answer``, and remembers what it was asked."""

    daemon_threads = True
    status = 200
    answer: Any = None
    asked: list[tuple[str, str | None, Any]]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        server = cast("Server", self.server)
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"] or 0)) or b"null")
        server.asked.append((self.path, self.headers["Authorization"], body))
        given = server.answer(body) if callable(server.answer) else server.answer
        data = given if isinstance(given, bytes) else json.dumps(given)
        sent = data if isinstance(data, bytes) else data.encode()
        self.send_response(server.status)
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def do_GET(self) -> None:
        self.do_POST()

    def log_message(self, *_: Any) -> None:
        """Nothing: the tests tell what matters."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as server:
        server.asked = []
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def client(server: Server) -> Iterator[LlamaClient]:
    client = LlamaClient(
        url=f"http://127.0.0.1:{server.server_address[1]}/", key="secret", timeout_s=10
    )
    yield client
    client.close()


def packed(*numbers: float) -> str:
    return base64.b64encode(np.array(numbers, "<f4").tobytes()).decode()


def vectors(*rows: tuple[int, str]) -> dict[str, Any]:
    return {"data": [{"index": index, "embedding": data} for index, data in rows]}


def test_vectors_come_in_the_order_of_the_texts_and_of_unit_length(
    server: Server, client: LlamaClient
) -> None:
    server.answer = vectors((1, packed(0, 2)), (0, packed(3, 4)))
    assert client.embed(["a", "b"]).tolist() == [[pytest.approx(0.6), pytest.approx(0.8)], [0, 1]]
    ((path, key, body),) = server.asked
    assert (path, key) == ("/v1/embeddings", "Bearer secret")
    assert body["input"] == ["a", "b"]


@pytest.mark.parametrize(
    "answer",
    [
        b"<html>",
        [],
        {},
        {"data": None},
        {"data": ["a", "b"]},
        vectors((0, packed(1))),
        vectors((0, packed(1)), (0, packed(1))),
        vectors((0, packed(1)), (2, packed(1))),
        vectors((0, packed(1)), (1, packed(1, 2))),
        vectors((0, packed(1)), (1, "no base64!")),
        vectors((0, packed(1)), (1, "AAA=")),
        {"data": [{"index": 0}, {"index": 1}]},
        {"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0]}]},
    ],
)
def test_vectors_that_cannot_be_used_are_an_error(
    server: Server, client: LlamaClient, answer: Any
) -> None:
    server.answer = answer
    with pytest.raises(ModelFailedError):
        client.embed(["a", "b"])


@pytest.mark.parametrize("bad", [packed(0, 0), packed(1, float("nan")), packed(float("inf"), 1)])
def test_vectors_that_are_none_are_told_apart(
    server: Server, client: LlamaClient, bad: str
) -> None:
    server.answer = vectors((0, packed(1, 1)), (1, bad))
    with pytest.raises(NotFiniteError):
        client.embed(["a", "b"])


def test_scores_are_joined_by_index(server: Server, client: LlamaClient) -> None:
    """L1: the server answers by score."""
    server.answer = {
        "results": [
            {"index": 2, "relevance_score": 9.0},
            {"index": 0, "relevance_score": 1.0},
            {"index": 1, "relevance_score": -3.0},
        ]
    }
    assert client.rerank("q", ["a", "b", "c"]).tolist() == [1.0, -3.0, 9.0]


@pytest.mark.parametrize(
    "answer",
    [
        {"results": [{"index": 0, "relevance_score": 1.0}]},
        {"results": [{"index": 0}, {"index": 1}]},
        {"results": [{"index": 0, "relevance_score": "x"}, {"index": 1, "relevance_score": 1}]},
        {"results": [{"index": 0, "relevance_score": None}, {"index": 1, "relevance_score": 1}]},
    ],
)
def test_scores_that_cannot_be_used_are_an_error(
    server: Server, client: LlamaClient, answer: Any
) -> None:
    server.answer = answer
    with pytest.raises(ModelFailedError):
        client.rerank("q", ["a", "b"])


def test_a_chat_answer_is_stripped_and_thoughts_are_not_asked_for(
    server: Server, client: LlamaClient
) -> None:
    server.answer = {"choices": [{"message": {"content": "\n A harbour. "}}]}
    assert client.chat("Where?", max_tokens=7, temperature=0.0) == "A harbour."
    ((path, _, body),) = server.asked
    assert path == "/v1/chat/completions"
    assert body["messages"] == [{"role": "user", "content": "Where?"}]
    assert body["max_tokens"] == 7
    assert body["temperature"] == 0.0
    assert body["chat_template_kwargs"] == {"enable_thinking": False}


def test_a_model_without_template_gets_a_plain_one(server: Server, client: LlamaClient) -> None:
    server.answer = {"content": " A harbour."}
    assert client.complete("Where?", max_tokens=7, temperature=0.0) == "A harbour."
    ((path, _, body),) = server.asked
    assert path == "/completion"
    assert body["prompt"] == "Human: Where?\n\nAssistant:"
    assert body["n_predict"] == 7


@pytest.mark.parametrize("answer", [{}, {"choices": []}, {"choices": [{"message": None}]}])
def test_no_answer_is_an_error(server: Server, client: LlamaClient, answer: Any) -> None:
    server.answer = answer
    with pytest.raises(ModelFailedError):
        client.chat("Where?", max_tokens=7, temperature=0.0)
    with pytest.raises(ModelFailedError):
        client.complete("Where?", max_tokens=7, temperature=0.0)
    with pytest.raises(ModelFailedError):
        client.count_tokens("a")
    with pytest.raises(ModelFailedError):
        client.count_each(["a", "b"])
    with pytest.raises(ModelFailedError):
        client.context()


def test_a_prompt_beyond_the_context_is_told_apart(server: Server, client: LlamaClient) -> None:
    server.status = 400
    server.answer = {
        "error": {"type": "exceed_context_size_error", "n_prompt_tokens": 900, "n_ctx": 512}
    }
    with pytest.raises(TextTooLongError) as caught:
        client.chat("long", max_tokens=7, temperature=0.0)
    assert (caught.value.tokens, caught.value.limit) == (900, 512)


def test_a_refusal_says_what_the_server_says(server: Server, client: LlamaClient) -> None:
    server.status = 500
    server.answer = {"error": {"code": 500, "message": "out of luck"}}
    with pytest.raises(ModelFailedError, match="500: out of luck"):
        client.count_tokens("a")


def test_texts_are_counted_by_few_requests(server: Server, client: LlamaClient) -> None:
    """A request each took 48 s for 20,000 Han characters."""
    server.answer = {"tokens": [101, 102]}
    assert client.count_each([]) == []
    assert client.count_each(["a"]) == [2]
    server.asked.clear()
    texts = [f"w{number}" for number in range(2000)]
    server.answer = {"tokens": [7, 7]}  # of "", and then of all: too few
    with pytest.raises(ModelFailedError, match="apart"):
        client.count_each(texts)
    (_, _, empty), (_, _, many) = server.asked
    assert empty == {"content": "", "add_special": True}
    assert many["content"][::2] == texts
    assert set(many["content"][1::2]) == {-1}
    assert many["add_special"] is False
    server.answer = {"tokens": [9, -1, -1, 5, 5, 5]}
    assert client.count_each(["a", "", "b"]) == [1 + 2, 0 + 2, 3 + 2]


@pytest.mark.parametrize(
    ("texts", "parts"),
    [
        (["a"] * 5000, [4096, 904]),
        (["a" * 100_000] * 5, [2, 2, 1]),
        (["a" * 300_000, "b"], [1, 1]),
    ],
)
def test_a_request_for_counts_has_a_bound(
    server: Server, client: LlamaClient, texts: list[str], parts: list[int]
) -> None:
    server.answer = lambda body: {
        "tokens": [token if token == -1 else 7 for token in body["content"]]
    }  # a token a text
    assert client.count_each(texts) == [1] * len(texts)
    contents = [body["content"] for _, _, body in server.asked[1:]]
    assert [len(content[::2]) for content in contents] == parts
    assert [text for content in contents for text in content[::2]] == texts


def test_a_server_that_is_away_is_no_other_error() -> None:
    client = LlamaClient(url="http://127.0.0.1:1", timeout_s=5)
    try:
        assert not client.answers()
        with pytest.raises(ModelFailedError, match="does not answer"):
            client.embed(["a"])
    finally:
        client.close()
