"""Several models in one process: paths, lazy loading, unloading, what is said of them."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from ragbase_inference.errors import ModelUnavailableError
from ragbase_inference.server.settings import ServerSettings

from ..scripted import DIMENSION, LIMIT, Scripted
from .background import asking
from .conftest import Serve
from .live import Live, serving, wait_until


def states(live: Live) -> dict[str, str]:
    return {one["id"]: one["state"] for one in live.get("/v1/models").json()["data"]}


def test_each_model_speaks_the_protocol_under_its_name_and_the_first_at_the_root(
    serve: Serve, model: Scripted, other_model: Scripted
) -> None:
    other_model.kind = "reranker"
    live = serve({"vectors": model, "ranks": other_model})
    ask = {"query": "q", "texts": ["a"]}
    assert live.post("/models/vectors/embed", {"inputs": "a"}).status_code == 200
    assert live.post("/embed", {"inputs": "a"}).status_code == 200
    assert live.post("/models/ranks/rerank", ask).status_code == 200
    assert live.post("/rerank", ask).status_code == 424
    assert live.post("/models/ranks/v1/rerank", {"query": "q", "documents": ["a"]}).is_success
    assert live.get("/models/ranks/info").json()["model_id"] == "test/ranks"
    assert live.get("/models/ranks/health").status_code == 200
    assert live.get("/models/ranks/metrics").status_code == 200
    assert live.post("/models/ranks/", ask).status_code == 200
    assert live.post("/models/none/embed", {"inputs": "a"}).status_code == 404
    assert live.metric('te_request_success{method="batch",model="ranks"}') == 3


def test_info_has_teis_fields_and_more(serve: Serve, model: Scripted) -> None:
    live = serve(max_concurrent_requests=7, max_batch_requests=3, served_model_name="shown")
    assert live.get("/info").json() == {
        "model_id": "test/scripted",
        "model_sha": None,
        "model_dtype": "float32",
        "served_model_name": "shown",
        "model_type": {"embedding": {"pooling": "mean"}},
        "max_concurrent_requests": 7,
        "max_input_length": LIMIT,
        "max_batch_tokens": 16384,
        "max_batch_requests": 3,
        "max_client_batch_size": 32,
        "auto_truncate": True,
        "tokenization_workers": live.get("/info").json()["tokenization_workers"],
        "version": "0.1.0",
        "sha": None,
        "docker_label": None,
        "name": "default",
        "backend": "onnx",
        "device": "cpu",
        "dimension": DIMENSION,
        "state": "loaded",
        "memory_bytes": 1000,
    }
    assert live.post("/v1/embeddings", {"input": "a"}).json()["model"] == "shown"


def test_the_list_of_models_tells_state_and_memory(
    serve: Serve, model: Scripted, other_model: Scripted
) -> None:
    live = serve({"one": model, "two": other_model})
    first, second = live.get("/v1/models").json()["data"]
    assert (first["id"], first["path"], first["model"]) == ("one", "/models/one", "test/one")
    assert (first["state"], first["memory_bytes"], first["kind"]) == ("loaded", 1000, "embedding")
    assert (first["max_input_length"], first["dimension"]) == (LIMIT, DIMENSION)
    assert second["id"] == "two"


def test_a_lazy_model_is_loaded_by_its_first_request(
    serve: Serve, model: Scripted, other_model: Scripted
) -> None:
    live = serve({"one": model, "two": other_model}, lazy=True)
    listed = live.get("/v1/models").json()["data"]
    assert [(one["state"], one["kind"], one["memory_bytes"]) for one in listed] == [
        ("unloaded", None, 0)
    ] * 2
    assert live.get("/health").status_code == 200
    assert live.post("/models/two/embed", {"inputs": "a"}).status_code == 200
    assert states(live) == {"one": "unloaded", "two": "loaded"}
    assert live.metric('ragbase_inference_model_loaded{model="one"}') == 0
    assert live.metric('ragbase_inference_model_loaded{model="two"}') == 1


def test_info_loads_a_lazy_model_for_only_then_it_knows(serve: Serve, model: Scripted) -> None:
    live = serve(lazy=True)
    assert live.get("/info").json()["max_input_length"] == LIMIT
    assert states(live) == {"default": "loaded"}


def test_requests_during_a_load_wait_for_it_and_it_happens_once(model: Scripted) -> None:
    loads: list[str] = []
    started, go_on = threading.Event(), threading.Event()

    def load(spec: Any) -> Scripted:
        loads.append(spec.name)
        started.set()
        assert go_on.wait(30)
        return model

    with serving(ServerSettings(lazy=True), load) as live:
        with (
            asking(live, "/embed", {"inputs": "a"}) as one,
            asking(live, "/embed", {"inputs": "b"}) as two,
        ):
            assert started.wait(10)
            assert states(live) == {"default": "loading"}
            assert live.get("/health").status_code == 200
            go_on.set()
        assert (one.result().status_code, two.result().status_code) == (200, 200)
    assert loads == ["default"]


def test_a_model_that_cannot_be_had_is_503_and_tried_again(model: Scripted) -> None:
    failures = [ModelUnavailableError("the hub is away; set HF_HOME to a folder that has it")]

    def load(_: Any) -> Scripted:
        if failures:
            raise failures.pop()
        return model

    with serving(ServerSettings(lazy=True), load) as live:
        answer = live.post("/embed", {"inputs": "a"})
        assert (answer.status_code, answer.json()["error_type"]) == (503, "Unhealthy")
        assert "the hub is away" in answer.json()["error"]
        assert states(live) == {"default": "unloaded"}
        assert live.post("/embed", {"inputs": "a"}).status_code == 200


def test_an_eager_model_that_cannot_be_had_is_the_end(model: Scripted) -> None:
    from ragbase_inference.server.run import bind, run_server

    def load(_: Any) -> Scripted:
        raise ModelUnavailableError("none")

    with bind("127.0.0.1", 0) as listener, pytest.raises(ModelUnavailableError):
        run_server(ServerSettings(), listener, load)


def test_an_idle_model_is_unloaded_and_loaded_again(serve: Serve, model: Scripted) -> None:
    live = serve(idle_unload=0.05)
    assert live.post("/embed", {"inputs": "a"}).status_code == 200
    assert model.closed.wait(10)
    wait_until(lambda: states(live) == {"default": "unloaded"})
    info = live.get("/info").json()
    assert (info["state"], info["memory_bytes"], info["dimension"]) == ("unloaded", 0, DIMENSION)
    assert live.metric('ragbase_inference_model_loaded{model="default"}') == 0
    assert live.post("/embed", {"inputs": "a"}).status_code == 200


def test_a_model_at_work_is_not_idle(serve: Serve, model: Scripted) -> None:
    live = serve(idle_unload=0.02, lazy=True)
    model.hold()
    with asking(live, "/embed", {"inputs": "a"}) as answer:
        assert model.busy.wait(10)
        assert not model.closed.wait(0.2)
        model.release()
    assert answer.result().status_code == 200
    assert model.closed.wait(10)
