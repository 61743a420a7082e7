"""NER over HTTP: the wire form of ``POST /v1/ner``, and what servers do wrong."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from fastapi import FastAPI, Request, Response

from ragbase.clients.ner import DEFAULT_LABELS, NerSpan
from ragbase.clients.ner_remote import BATCH, RemoteNer
from ragbase.clients.retry import RetryPolicy
from ragbase.errors import ConfigurationError, UnavailableError, UpstreamError

from ..conftest import Serve


class Server:
    """Marks the word ``Acme`` in each text; ``fault`` answers instead."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.fault: Any = None

    async def ner(self, request: Request) -> Response | dict[str, Any]:
        body = await request.json()
        self.bodies.append(body)
        self.keys.append(request.headers.get("authorization"))
        if isinstance(self.fault, int):
            return Response(b'{"error": "no"}', self.fault)
        if self.fault is not None:
            return self.fault
        results = [
            {"index": index, "spans": _marks(text)} for index, text in enumerate(body["texts"])
        ]
        return {"object": "list", "model": "m", "results": list(reversed(results))}


def _marks(text: str) -> list[dict[str, Any]]:
    start = text.find("Acme")
    mark = {"start": start, "end": start + 4, "text": "Acme", "label": "Company ", "score": 0.75}
    return [] if start < 0 else [mark]


@pytest_asyncio.fixture
async def server() -> Server:
    return Server()


@pytest_asyncio.fixture
async def ner(server: Server, serve: Serve) -> AsyncIterator[RemoteNer]:
    app = FastAPI()
    app.post("/v1/ner", response_model=None)(server.ner)
    app.get("/health")(lambda: {"ok": True})
    url = await asyncio.to_thread(serve, app)
    client = RemoteNer(url, api_key="k", retry=RetryPolicy(attempts=2, first_wait_s=0.01))
    yield client
    await client.aclose()


async def test_spans_come_back_in_the_order_of_the_texts(ner: RemoteNer, server: Server) -> None:
    assert await ner.spans(["no", "  ", "an Acme"]) == [[], [], [NerSpan(3, 7, "company", 0.75)]]
    [body] = server.bodies
    assert body == {"texts": ["no", "an Acme"], "labels": list(DEFAULT_LABELS), "threshold": 0.45}
    assert server.keys == ["Bearer k"]
    await ner.ping()


async def test_labels_of_a_call_win(ner: RemoteNer, server: Server) -> None:
    await ner.spans(["x"], labels=["ship"])
    assert server.bodies[0]["labels"] == ["ship"]


async def test_many_texts_go_in_requests_that_servers_take(ner: RemoteNer, server: Server) -> None:
    found = await ner.spans(["Acme"] * (2 * BATCH + 1))
    assert len(found) == 2 * BATCH + 1
    assert sorted(len(body["texts"]) for body in server.bodies) == [1, BATCH, BATCH]


@pytest.mark.parametrize(
    "answer",
    [
        {"results": []},
        {"results": [{"index": 1, "spans": []}]},
        {"results": [{"index": 0, "spans": [{"start": 0, "end": 99, "label": "x", "score": 1}]}]},
        {"results": [{"index": 0, "spans": [{"start": 0, "label": "x", "score": 1}]}]},
        {"results": [{"index": 0, "spans": [{"start": 0, "end": 1, "label": "x", "score": 7}]}]},
        ["x"],
    ],
)
async def test_an_answer_of_another_form_is_not_used(
    ner: RemoteNer, server: Server, answer: object
) -> None:
    server.fault = answer
    with pytest.raises(UpstreamError):
        await ner.spans(["Acme"])


async def test_a_server_that_is_away_is_tried_again_then_reported(
    ner: RemoteNer, server: Server
) -> None:
    server.fault = 503
    with pytest.raises(UnavailableError) as caught:
        await ner.spans(["Acme"])
    assert caught.value.code == "ner_unavailable"
    assert len(server.bodies) == 2


async def test_an_address_that_is_none_is_refused_by_its_setting() -> None:
    with pytest.raises(ConfigurationError, match="RAGBASE_NER_URL"):
        RemoteNer("ftp://x")
