"""`POST /v1/rerank`, and searches with the rerankers that the settings name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from ragbase.services.keys_format import new_key

from ..eventually import eventually
from ..model_server import Fault, Stub
from ..tiny_reranker import write_reranker
from .conftest import OpenApp

QUERY = "north quay"
TEXTS = ["rice and salt", "the north quay", "", "a quay"]
Post = Callable[..., Awaitable[httpx.Response]]


@pytest_asyncio.fixture
async def client(open_app: OpenApp, model_server: Stub) -> httpx.AsyncClient:
    """An API with a reranker `default`."""
    _, client = await open_app(reranker_url=model_server.url)
    return client


@pytest.fixture
def post(client: httpx.AsyncClient) -> Post:
    async def one(**fields: Any) -> httpx.Response:
        return await client.post("/v1/rerank", json={"query": QUERY, "texts": TEXTS, **fields})

    return one


async def test_all_texts_come_back_best_first(post: Post, model_server: Stub) -> None:
    answer = await post(return_text=True)
    assert answer.status_code == 200
    found = answer.json()
    assert [(row["index"], row["text"]) for row in found["results"]] == [
        (index, TEXTS[index]) for index in (1, 3, 0, 2)
    ]
    scores = [row["score"] for row in found["results"]]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == model_server.relevance(QUERY, TEXTS[1])
    assert scores[-1] == 0.0
    assert (found["model"], found["reranker_used"]) == (model_server.model_id, "default")
    assert found["warnings"] == []


async def test_texts_are_not_given_back_unasked(post: Post) -> None:
    assert {row["text"] for row in (await post()).json()["results"]} == {None}


async def test_more_texts_than_the_server_takes_go_in_batches(
    post: Post, model_server: Stub
) -> None:
    """R43."""
    answer = await post(texts=[f"quay {n}" for n in range(100)])
    assert sorted(row["index"] for row in answer.json()["results"]) == list(range(100))
    assert max(map(len, model_server.texts("rerank"))) == 32


async def test_blank_texts_are_never_sent(post: Post, model_server: Stub) -> None:
    """B077."""
    answer = await post(texts=["", "  \n"])
    assert [row["score"] for row in answer.json()["results"]] == [0.0, 0.0]
    assert model_server.texts("rerank") == []


async def test_a_server_without_info_costs_only_the_models_name(
    open_app: OpenApp, model_server: Stub
) -> None:
    """R43."""
    model_server.sidecar = True
    _, client = await open_app(reranker_url=model_server.url)
    answer = await client.post("/v1/rerank", json={"query": QUERY, "texts": TEXTS})
    assert (answer.status_code, answer.json()["model"]) == (200, "unknown")


async def test_without_a_reranker_it_is_503(open_app: OpenApp) -> None:
    _, client = await open_app(rerank_enabled=False)
    answer = await client.post("/v1/rerank", json={"query": QUERY, "texts": TEXTS})
    assert answer.status_code == 503
    assert answer.json()["detail"] == "Reranker is disabled"
    assert answer.json()["code"] == "reranker_disabled"


async def test_a_name_that_is_not_configured_is_replaced_and_said(post: Post) -> None:
    """R13."""
    found = (await post(rerank_model="qwen-8b")).json()
    assert found["reranker_used"] == "default"
    assert [warning["code"] for warning in found["warnings"]] == ["reranker_fallback"]
    assert "qwen-8b" in found["warnings"][0]["message"]


@pytest.mark.parametrize(
    ("fields", "status", "code", "where"),
    [
        ({"rerank_model": "large"}, 422, "unknown_reranker", "rerank_model"),
        ({"texts": []}, 422, "validation_error", "texts"),
        ({"texts": ["a"] * 1001}, 422, "batch_too_large", "texts"),
        ({"texts": ["a\0b"]}, 422, "invalid_text", "texts.0"),
        ({"query": ""}, 422, "validation_error", "query"),
        ({"query": "q" * 8193}, 422, "query_too_long", "query"),
        ({"texts": ["a", "b" * 5_000_001]}, 413, "text_too_long", "texts.1"),
    ],
)
async def test_what_cannot_be_asked_is_refused_by_name(
    post: Post, fields: dict[str, Any], status: int, code: str, where: str
) -> None:
    answer = await post(**fields)
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    assert where in answer.text


@pytest.mark.parametrize(
    ("fault", "status", "code"),
    [
        (Fault(422, b'{"error":"no emoji","error_type":"Validation"}'), 422, "invalid_input"),
        (Fault(503, b'{"detail":"model not loaded"}'), 503, "reranker_unavailable"),
        (Fault(424, b'{"error":"NaN","error_type":"Backend"}'), 502, "upstream_error"),
        (Fault(200, b"[]"), 502, "upstream_error"),
    ],
)
async def test_faults_of_the_server_are_told_apart(
    post: Post, model_server: Stub, fault: Fault, status: int, code: str
) -> None:
    """R43: 4xx about a text is passed on, 502 and 503 are the server's."""
    model_server.script += [fault] * 4
    answer = await post(texts=["one"])
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text


async def test_it_takes_a_key_with_read(open_app: OpenApp, model_server: Stub) -> None:
    key = new_key().text
    _, client = await open_app(auth="on", probe_key=key, reranker_url=model_server.url)
    body = {"query": QUERY, "texts": TEXTS}
    assert (await client.post("/v1/rerank", json=body)).status_code == 401
    headers = {"authorization": f"Bearer {key}"}
    assert (await client.post("/v1/rerank", json=body, headers=headers)).status_code == 200


async def test_without_a_key_health_says_that_and_not_what(
    open_app: OpenApp, model_server: Stub, unused_tcp_port: int
) -> None:
    small = {"url": model_server.url}
    _, client = await open_app(
        auth="on",
        admin_key=new_key().text,
        rerankers={"small": small, "away": {"url": f"http://127.0.0.1:{unused_tcp_port}"}},
    )
    health = (await client.get("/health")).json()
    assert health["rerankers"] == {"small": "healthy", "away": "error"}
    models = (await client.get("/health/models")).json()
    assert models["rerankers"] == {"small": {"status": "healthy"}, "away": None}


async def test_every_configured_reranker_is_named_by_health(
    open_app: OpenApp, model_server: Stub, unused_tcp_port: int
) -> None:
    small = {"url": model_server.url, "model": model_server.model_id, "fallback": "default"}
    _, client = await open_app(
        rerankers={"small": small}, reranker_url=f"http://127.0.0.1:{unused_tcp_port}"
    )
    health = (await client.get("/health")).json()
    assert health["status"] == "degraded"
    assert health["reranker"].startswith("error: The reranker default cannot be reached")
    assert health["rerankers"] == {"small": "healthy", "default": health["reranker"]}
    models = (await client.get("/health/models")).json()
    assert models["reranker"] is None
    assert models["rerankers"]["small"] == {
        "model_id": model_server.model_id,
        "max_input_length": 16,
        "timeout_s": 60.0,
        "fallback": "default",
    }
    metrics = (await client.get("/metrics")).text
    assert 'ragbase_dependency_up{dependency="reranker-default"} 0.0' in metrics
    assert 'ragbase_dependency_up{dependency="reranker-small"} 1.0' in metrics


async def test_health_tells_a_status_by_its_number(open_app: OpenApp, model_server: Stub) -> None:
    """Contract §8."""
    model_server.api_key = "other"
    _, client = await open_app(reranker_url=model_server.url)

    async def says(word: str) -> bool:
        return bool((await client.get("/health")).json()["reranker"] == word)

    assert await says("status 401")
    model_server.api_key = ""
    await eventually(lambda: says("healthy"))


async def test_rankings_are_counted_by_outcome(
    client: httpx.AsyncClient, post: Post, model_server: Stub
) -> None:
    async def count(outcome: str) -> float:
        wanted = f'ragbase_reranker_requests_total{{model="default",outcome="{outcome}"}} '
        lines = (await client.get("/metrics")).text.splitlines()
        return sum(float(line.removeprefix(wanted)) for line in lines if line.startswith(wanted))

    before = {outcome: await count(outcome) for outcome in ("ok", "error")}
    await post()
    model_server.script += [Fault(200, b"[]")] * 2
    await post()
    assert {outcome: await count(outcome) - n for outcome, n in before.items()} == {
        "ok": 1,
        "error": 1,
    }


async def test_a_search_names_the_reranker_and_gives_both_scores(
    client: httpx.AsyncClient, model_server: Stub
) -> None:
    for title, content in (("A", "Boil the rice."), ("B", "Ships moor at the north quay.")):
        await client.post("/v1/documents", json={"title": title, "content": content})
    answer = (await client.post("/v1/search", json={"query": QUERY, "explain": True})).json()
    assert (answer["reranker_used"], answer["score_kind"]) == ("default", "rerank")
    first = answer["results"][0]
    assert first["document_title"] == "B"
    assert first["explain"]["rerank"] == {"rank": 1, "score": first["score"]}
    assert first["explain"]["fused"]["rank"] == 1
    read = [text for texts in model_server.texts("rerank") for text in texts]
    assert any(text.endswith("Ships moor at the north quay.") for text in read)


async def test_rerank_text_raw_sends_the_chunk_alone(open_app: OpenApp, model_server: Stub) -> None:
    _, client = await open_app(reranker_url=model_server.url, rerank_text="raw")
    await client.post("/v1/documents", json={"title": "Harbour", "content": "The north quay."})
    await client.post("/v1/search", json={"query": QUERY})
    assert model_server.texts("rerank") == [["The north quay."]]


async def test_a_model_of_this_process_reranks_without_any_server(
    open_app: OpenApp, tmp_path: Path
) -> None:
    folder = write_reranker(tmp_path / "tiny")
    _, client = await open_app(rerank_model=str(folder))
    health = (await client.get("/health")).json()
    assert (health["status"], health["reranker"]) == ("ok", "healthy")
    await client.post("/v1/documents", json={"title": "A", "content": "The north quay."})
    answer = (await client.post("/v1/search", json={"query": QUERY})).json()
    assert (answer["reranker_used"], answer["warnings"]) == ("default", [])
    answer = await client.post("/v1/rerank", json={"query": "a", "texts": ["b", "c d"]})
    assert answer.json()["model"] == str(folder)
    assert all(0 < row["score"] < 1 for row in answer.json()["results"])


async def test_a_model_that_cannot_be_had_is_told_by_search_and_health(
    open_app: OpenApp, tmp_path: Path
) -> None:
    _, client = await open_app(rerank_model=str(tmp_path / "nowhere"))
    health = (await client.get("/health")).json()
    assert health["status"] == "degraded"
    assert health["reranker"].startswith("error: The reranker")
    await client.post("/v1/documents", json={"title": "A", "content": "The north quay."})
    answer = (await client.post("/v1/search", json={"query": QUERY})).json()
    assert (answer["total"], answer["degraded"]) == (1, True)
    assert "Name a folder" in answer["warnings"][0]["message"]


async def test_with_nothing_configured_who_asks_is_told_why_and_how_to_get_one(
    open_app: OpenApp,
) -> None:
    _, client = await open_app()
    health = (await client.get("/health")).json()
    assert (health["status"], health["reranker"], health["rerankers"]) == ("ok", "disabled", {})
    await client.post("/v1/documents", json={"title": "A", "content": "The north quay."})
    unasked = (await client.post("/v1/search", json={"query": QUERY})).json()
    assert unasked["warnings"] == []

    async def told() -> bool:
        body = {"query": QUERY, "rerank": True}
        (warning,) = (await client.post("/v1/search", json=body)).json()["warnings"]
        assert warning["code"] == "rerank_unavailable"
        assert "RAGBASE_RERANK_MODEL" in warning["message"]
        return "cannot be fetched (HF_HUB_OFFLINE is set)" in warning["message"]

    await eventually(told)
    assert (await client.get("/health")).json()["status"] == "ok"
