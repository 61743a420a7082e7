"""Permits, disconnects, failures of the model: what one caller does never harms another."""

from __future__ import annotations

import http.client
import json
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

from ragbase_inference.errors import ModelFailedError, OutOfMemoryError

from ..scripted import Scripted
from .background import asking
from .conftest import Serve
from .live import Live, wait_until

OVERLOADED = {"error": "Model is overloaded", "error_type": "Overloaded"}


def test_a_permit_is_taken_an_input_and_none_is_waited_for(serve: Serve, model: Scripted) -> None:
    live = serve(max_concurrent_requests=8)
    model.hold()
    with asking(live, "/embed", {"inputs": ["a"] * 6}) as first:
        assert model.busy.wait(10)
        refused = live.post("/embed", {"inputs": ["a"] * 3})
        assert (refused.status_code, refused.json()) == (429, OVERLOADED)
        flat = live.post("/v1/embeddings", {"input": ["a"] * 3})
        assert flat.json() == {"message": "Model is overloaded", "code": 429, "type": "Overloaded"}
        assert "retry-after" not in refused.headers
        with asking(live, "/embed", {"inputs": ["a"] * 2}) as second:
            wait_until(lambda: live.metric('te_queue_size{model="default"}') == 2)
            model.release()
    assert (first.result().status_code, second.result().status_code) == (200, 200)
    assert live.metric('te_request_failure{err="overloaded",model="default"}') == 2
    assert live.post("/embed", {"inputs": ["a"] * 8}).status_code == 200


def test_more_inputs_than_permits_are_always_refused(serve: Serve) -> None:
    live = serve(max_concurrent_requests=8)
    for _ in range(2):
        assert live.post("/embed", {"inputs": ["a"] * 9}).status_code == 429


def test_failed_requests_give_their_permits_back(serve: Serve) -> None:
    live = serve(max_concurrent_requests=2)
    for _ in range(3):
        assert live.post("/embed", {"inputs": ["a", ""]}).status_code == 400
        assert live.post("/embed", {"inputs": [99_999]}).status_code == 422
        assert live.post("/rerank", {"query": "q", "texts": ["a"]}).status_code == 424
    assert live.post("/embed", {"inputs": ["a", "b"]}).status_code == 200


def test_each_model_has_permits_of_its_own(
    serve: Serve, model: Scripted, other_model: Scripted
) -> None:
    live = serve({"one": model, "two": other_model}, max_concurrent_requests=1)
    model.hold()
    with asking(live, "/models/one/embed", {"inputs": "a"}):
        assert model.busy.wait(10)
        assert live.post("/embed", {"inputs": "a"}).status_code == 429
        assert live.post("/models/two/embed", {"inputs": "a"}).status_code == 200
        model.release()


def connected(live: Live, body: Any) -> socket.socket:
    """A connection over which a request was sent, and nothing read."""
    address = urlsplit(live.url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=10)
    connection.request("POST", "/embed", json.dumps(body), {"content-type": "application/json"})
    assert connection.sock is not None
    return connection.sock


def test_inputs_of_a_client_that_has_gone_are_not_run(serve: Serve, model: Scripted) -> None:
    live = serve(max_concurrent_requests=16)
    model.hold()
    with asking(live, "/embed", {"inputs": "a"}) as stays:
        assert model.busy.wait(10)
        gone = connected(live, {"inputs": ["the"] * 15})
        wait_until(lambda: live.metric('te_queue_size{model="default"}') == 15)
        gone.close()
        dropped = 'te_request_failure{err="dropped",model="default"}'
        wait_until(lambda: live.metric(dropped) == 15)
        assert live.metric('te_queue_size{model="default"}') == 0
        model.release()
    assert stays.result().status_code == 200
    assert [len(batch) for batch in model.batches] == [1]
    assert live.post("/embed", {"inputs": ["a"] * 16}).status_code == 200  # permits are back


def test_a_client_that_goes_during_its_batch_leaves_the_server_well(
    serve: Serve, model: Scripted
) -> None:
    live = serve(max_concurrent_requests=1)
    model.hold()
    connected(live, {"inputs": "a"}).close()
    assert model.busy.wait(10)
    model.release()
    wait_until(lambda: live.post("/embed", {"inputs": "a"}).status_code == 200)


def test_requests_of_many_clients_share_a_batch(serve: Serve, model: Scripted) -> None:
    live = serve()
    model.hold()
    with ExitStack() as stack:
        stack.enter_context(asking(live, "/embed", {"inputs": "a"}))
        assert model.busy.wait(10)
        for _ in range(5):
            stack.enter_context(asking(live, "/embed", {"inputs": ["b", "the"]}))
        wait_until(lambda: live.metric('te_queue_size{model="default"}') == 10)
        model.release()
    assert [len(batch) for batch in model.batches] == [1, 10]
    assert live.metric('te_batch_next_size_sum{model="default"}') == 11


@pytest.mark.parametrize(
    ("options", "sizes"),
    [({"batching": False}, [1, 1, 1]), ({"max_batch_requests": 2}, [2, 1])],
)
def test_batches_can_be_bounded_or_done_without(
    serve: Serve, model: Scripted, options: dict[str, Any], sizes: list[int]
) -> None:
    live = serve(**options)
    vectors = live.post("/embed", {"inputs": ["a", "b", "c"]}).json()
    assert [len(batch) for batch in model.batches] == sizes
    alone = [live.post("/embed", {"inputs": text}).json()[0] for text in "abc"]
    np.testing.assert_allclose(vectors, alone, atol=1e-6)


def test_nan_is_the_failure_of_its_input_alone(serve: Serve, model: Scripted) -> None:
    """B067."""
    live = serve()
    (model.poison,) = model.tokenizer.encode(["the"], 16, special=False)[0].ids
    model.hold()
    with asking(live, "/embed", {"inputs": "a"}):
        assert model.busy.wait(10)
        with (
            asking(live, "/embed", {"inputs": ["b", "the"]}) as bad,
            asking(live, "/embed", {"inputs": ["c", "d"]}) as good,
        ):
            wait_until(lambda: live.metric('te_queue_size{model="default"}') == 4)
            model.release()
    assert good.result().status_code == 200
    assert bad.result().status_code == 424
    error = bad.result().json()
    assert error["error_type"] == "Backend"
    assert error["error"].startswith("Backend error: ")
    assert live.metric('te_request_failure{err="inference",model="default"}') == 1


def test_nan_of_a_reranker_is_424(serve: Serve, model: Scripted) -> None:
    model.kind = "reranker"
    (model.poison,) = model.tokenizer.encode(["the"], 16, special=False)[0].ids
    live = serve()
    body = {"query": "q", "texts": ["a", "the"]}
    assert live.post("/rerank", body).status_code == 424
    assert live.post("/v1/rerank", {"query": "q", "documents": ["the"]}).json()["code"] == 424
    assert live.post("/rerank", {"query": "q", "texts": ["a"]}).status_code == 200


def test_out_of_memory_halves_the_batch_and_is_counted(serve: Serve, model: Scripted) -> None:
    def little_room(batch: list[Any]) -> None:
        if len(batch) > 2:
            raise OutOfMemoryError("8 do not fit")

    model.script = little_room
    live = serve()
    vectors = live.post("/embed", {"inputs": list("abcdefgh")})
    assert vectors.status_code == 200
    assert [len(batch) for batch in model.batches] == [8, 4, 2, 2, 4, 2, 2]
    assert live.metric('ragbase_inference_oom_splits_total{model="default"}') == 3
    alone = [live.post("/embed", {"inputs": text}).json()[0] for text in "abcdefgh"]
    np.testing.assert_allclose(vectors.json(), alone, atol=1e-6)


def test_an_input_too_large_for_the_device_is_424(serve: Serve, model: Scripted) -> None:
    def no_room(_: list[Any]) -> None:
        raise OutOfMemoryError("none fits")

    model.script = no_room
    live = serve()
    answer = live.post("/embed", {"inputs": "a"})
    assert (answer.status_code, answer.json()["error_type"]) == (424, "Backend")


@pytest.mark.parametrize("path", ["/health", "/info", "/metrics", "/v1/models", "/ping"])
def test_nothing_but_the_model_waits_for_the_model(
    serve: Serve, model: Scripted, path: str
) -> None:
    live = serve()
    model.hold()
    with asking(live, "/embed", {"inputs": "a"}):
        assert model.busy.wait(10)
        assert live.http.get(path, timeout=5).status_code == 200
        model.release()


def test_health_tells_a_lost_device_from_a_bad_input(serve: Serve, model: Scripted) -> None:
    """One bad input says nothing; a model that fails on a good one is ill, until it works again."""
    (bad,) = model.tokenizer.encode(["the"], 16, special=False)[0].ids

    def bad_input(batch: list[Any]) -> None:
        if any(bad in one.ids for one in batch):
            raise ModelFailedError("odd input")

    def lost(_: list[Any]) -> None:
        raise ModelFailedError("the device is gone")

    live = serve()
    model.script = bad_input
    assert live.post("/embed", {"inputs": "the"}).status_code == 424
    runs = len(model.batches)
    assert live.get("/health").status_code == 200
    wait_until(lambda: len(model.batches) > runs)
    assert live.get("/health").status_code == 200

    model.script = lost
    assert live.post("/embed", {"inputs": "a"}).status_code == 424
    wait_until(lambda: live.get("/health").status_code == 503)
    assert live.get("/health").json()["error_type"] == "Unhealthy"
    assert live.get("/models/default/health").status_code == 503

    model.script = lambda _: None
    wait_until(lambda: live.get("/health").status_code == 200)
    assert live.post("/embed", {"inputs": "a"}).status_code == 200


def test_an_error_that_nobody_foresaw_is_the_models(serve: Serve, model: Scripted) -> None:
    def broken(_: list[Any]) -> None:
        raise RuntimeError("boom")

    model.script = broken
    answer = serve().post("/embed", {"inputs": "a"})
    assert (answer.status_code, answer.json()["error_type"]) == (424, "Backend")
    assert "boom" not in answer.text


def test_many_clients_at_once_are_all_answered(serve: Serve) -> None:
    live = serve()
    texts = ["a", "b c", "the cat", "x y z"]
    wanted = {text: live.post("/embed", {"inputs": text}).json()[0] for text in texts}

    def ask(text: str) -> list[float]:
        return list(live.post("/embed", {"inputs": text}).json()[0])

    with ThreadPoolExecutor(8) as pool:
        for text, vector in zip(texts * 10, pool.map(ask, texts * 10), strict=True):
            np.testing.assert_allclose(vector, wanted[text], atol=1e-6)
