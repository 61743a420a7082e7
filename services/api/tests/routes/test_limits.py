"""Bounds on what callers can send, each with an answer that names it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx

from .conftest import OpenApp


async def test_a_body_over_the_limit_is_413_announced_or_not(open_app: OpenApp) -> None:
    _, client = await open_app(max_body_bytes=2048)
    body = b'{"title": "T", "content": "' + b"x" * 4096 + b'"}'
    headers = {"content-type": "application/json"}
    announced = await client.post("/v1/documents", content=body, headers=headers)

    async def streamed() -> AsyncIterator[bytes]:
        for start in range(0, len(body), 512):
            yield body[start : start + 512]

    chunked = await client.post("/v1/documents", content=streamed(), headers=headers)
    for answer in (announced, chunked):
        assert answer.status_code == 413
        assert answer.json()["code"] == "body_too_large"
        assert "2048" in answer.json()["detail"]


async def test_half_sent_bodies_give_their_places_back(open_app: OpenApp) -> None:
    _, client = await open_app(max_inflight=2, body_timeout=0.3)

    async def stalled() -> AsyncIterator[bytes]:
        yield b'{"query": '
        await asyncio.sleep(10)

    headers = {"content-type": "application/json"}
    calls = [client.post("/v1/search", content=stalled(), headers=headers) for _ in range(2)]
    for answer in await asyncio.gather(*calls):
        assert (answer.status_code, answer.json()["code"]) == (408, "body_timeout")
        assert answer.headers["connection"] == "close"
    assert (await client.get("/v1/documents")).status_code == 200


async def test_text_title_and_metadata_limits_are_named(open_app: OpenApp) -> None:
    _, client = await open_app(max_text_chars=100, max_metadata_bytes=50)
    long_text = await client.post("/v1/documents", json={"title": "T", "content": "x" * 101})
    assert (long_text.status_code, long_text.json()["code"]) == (413, "text_too_long")
    big = {"title": "T", "content": "c", "metadata": {"k": "v" * 60}}
    metadata = await client.post("/v1/documents", json=big)
    assert (metadata.status_code, metadata.json()["code"]) == (413, "metadata_too_large")


async def test_requests_beyond_the_limit_are_shed_and_probes_are_not(open_app: OpenApp) -> None:
    _, client = await open_app(max_inflight=2)
    body = {"title": "T", "content": "word " * 3000}
    calls = [client.post("/v1/documents", json=body) for _ in range(6)]
    answers = await asyncio.gather(*calls, client.get("/health/live"))
    *posts, live = answers
    assert live.status_code == 200
    shed = [answer for answer in posts if answer.status_code == 429]
    assert len(shed) == 4
    assert all(int(answer.headers["retry-after"]) >= 1 for answer in shed)
    assert (await client.get("/v1/documents")).status_code == 200


async def test_writers_do_not_take_the_places_of_searches(open_app: OpenApp) -> None:
    _, client = await open_app(max_inflight=4, max_inflight_writes=2)
    body = {"title": "T", "content": "word " * 3000}
    posts = [client.post("/v1/documents", json=body) for _ in range(6)]
    searches = [client.post("/v1/search/keyword", json={"query": "word"}) for _ in range(2)]
    answers = await asyncio.gather(*posts, *searches)
    assert sorted(answer.status_code for answer in answers[:6]) == [201] * 2 + [429] * 4
    assert "RAGBASE_MAX_INFLIGHT_WRITES" in answers[5].json()["detail"]
    assert [answer.status_code for answer in answers[6:]] == [200, 200]


async def test_an_embed_batch_over_the_limit_is_refused(open_app: OpenApp) -> None:
    _, client = await open_app(max_batch=3)
    answer = await client.post("/v1/embed", json={"inputs": ["a"] * 4})
    assert answer.status_code == 422
    assert answer.json()["code"] == "batch_too_large"


async def test_a_wrong_value_is_echoed_shortened(api: httpx.AsyncClient) -> None:
    answer = await api.post("/v1/documents", json={"title": ["x" * 100_000], "content": "c"})
    assert answer.status_code == 422
    assert len(answer.content) < 2000
