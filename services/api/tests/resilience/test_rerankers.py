"""Searches while their reranker is down, slow or wrong: always 200, never a row lost, and it heals.

The table is the one of docs/operations/failure-modes.md.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from ragbase.clients.retry import RetryPolicy
from ragbase.embedded import EmbeddedPostgres
from ragbase.services.circuit import FAILURES

from ..eventually import eventually
from ..model_server import Fault, Stub, cut, running
from .conftest import World, open_world, stored

BUDGET_S = 0.6
NOT_ABOUT_TIME = pytest.mark.parametrize("ranked", [20.0], indirect=True)
DOCUMENTS = 12
QUERY = {"query": "ships at the quay", "top_k": 20, "collection": "logs"}
HTML = b"<html><h1>Bad Gateway</h1></html>"


@dataclass
class Ranked:
    """The API, and the server its searches rerank with."""

    world: World
    reranker: Stub
    serving: ExitStack

    def stop(self) -> None:
        self.serving.close()

    def start(self) -> None:
        self.serving.enter_context(running(self.reranker, int(self.reranker.url.rsplit(":", 1)[1])))

    async def search(self, **fields: Any) -> dict[str, Any]:
        answer = await self.world.client.post("/v1/search", json={**QUERY, **fields})
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def is_well(self) -> bool:
        """A search is reranked without a word, and health says the same."""
        found = await self.search()
        health = (await self.world.client.get("/health")).json()
        return (
            found["reranker_used"] == "default"
            and found["warnings"] == []
            and (health["status"], health["reranker"]) == ("ok", "healthy")
        )


@pytest_asyncio.fixture
async def ranked(
    postgres: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> AsyncIterator[Ranked]:
    """Twelve documents, and a reranker that may take little more than half a second, or as long as
    a test says that is not about time."""
    monkeypatch.setattr("ragbase.services.health._EVERY_DOWN_S", 0.05)
    monkeypatch.setattr("ragbase.services.circuit.FIRST_WAIT_S", 0.05)
    reranker = Stub(max_batch=4, model_id="acme/ranks", model_type={"reranker": {}})
    with ExitStack() as serving:
        serving.enter_context(running(reranker))
        timeout_s = getattr(request, "param", BUDGET_S)
        named = {"default": {"url": reranker.url, "timeout_s": timeout_s}}
        async with open_world(postgres, RetryPolicy(attempts=2), 5.0, rerankers=named) as world:
            await world.client.put("/v1/collections/logs", json={})
            for number in range(DOCUMENTS):
                body = {"title": f"Log {number}", "content": f"Ships at quay {number}."}
                ids_ = {"collection": "logs", "external_id": f"log-{number}"}
                await stored(world.client, {**body, **ids_})
            yield Ranked(world, reranker, serving)


def ids(answer: dict[str, Any]) -> list[int]:
    return [row["chunk_id"] for row in answer["results"]]


def answers(fault: Fault) -> Callable[[Ranked], None]:
    def begin(ranked: Ranked) -> None:
        ranked.reranker.script = deque([fault] * 10_000)

    return begin


def gives(mangle: Callable[[list[Any]], Any]) -> Callable[[Ranked], None]:
    def begin(ranked: Ranked) -> None:
        ranked.reranker.mangle = mangle

    return begin


def slow(ranked: Ranked) -> None:
    ranked.reranker.delay_s = 3


def json_of(literal: bytes) -> Fault:
    return Fault(200, b'[{"index":0,"score":%b}]' % literal)


OF_THE_SERVER: dict[str, Callable[[Ranked], None]] = {
    "down": Ranked.stop,
    "slow": slow,
    "429": answers(Fault(429)),
    "500": answers(Fault(500, b"Internal Server Error")),
    "503 with JSON": answers(Fault(503, b'{"detail":"model not loaded"}')),
    "401": answers(Fault(401)),
    "404": answers(Fault(404)),
    "424": answers(Fault(424, b'{"error":"NaN","error_type":"Backend"}')),
    "HTML 200": answers(Fault(200, HTML, content_type="text/html")),
    "HTML 502": answers(Fault(502, HTML, content_type="text/html")),
    "cut connection": answers(cut()),
    "empty list": gives(lambda rows: []),
    "NaN": answers(json_of(b"NaN")),
    "null": gives(lambda rows: [{**row, "score": None} for row in rows]),
    "too few": gives(lambda rows: rows[1:]),
    "too many": gives(lambda rows: [*rows, {"index": len(rows), "score": 0.5}]),
    "doubled index": gives(lambda rows: [rows[0], *rows[:-1]]),
    "index out of range": gives(lambda rows: [{**row, "index": row["index"] + 1} for row in rows]),
    "raw scores": gives(lambda rows: [{**row, "score": 7.5} for row in rows]),
}
OF_THE_TEXTS: dict[str, Callable[[Ranked], None]] = {
    "413": answers(Fault(413)),
    "422": answers(Fault(422, b'{"error":"no","error_type":"Validation"}')),
}
FAULTS = OF_THE_SERVER | OF_THE_TEXTS


def mend(ranked: Ranked) -> None:
    stub = ranked.reranker
    stub.script, stub.mangle, stub.delay_s = deque(), None, 0.0


@pytest.mark.parametrize("name", FAULTS)
async def test_a_fault_of_the_reranker_costs_only_its_order_and_heals(
    ranked: Ranked, name: str
) -> None:
    """B049, B071, B073, B075, R12: 200 in fused order within the budget, and it says so."""
    await eventually(ranked.is_well)  # a busy machine may pass the budget at first
    fused = ids(await ranked.search(rerank=False))
    assert len(set(fused)) == len(fused) == DOCUMENTS
    assert sorted(ids(await ranked.search())) == sorted(fused)
    FAULTS[name](ranked)
    for _ in range(FAILURES + 2):
        began = time.monotonic()
        answer = await ranked.search(min_rerank_score=0.9)
        assert time.monotonic() - began < BUDGET_S + 2
        assert ids(answer) == fused
        assert (answer["score_kind"], answer["reranker_used"]) == ("weighted", None)
        (warning,) = answer["warnings"]
        assert warning["code"] in ("rerank_unavailable", "rerank_timeout")
        assert answer["degraded"]
    if name in OF_THE_SERVER:
        await eventually(lambda: says_so(ranked))
    mend(ranked)
    if name == "down":
        ranked.start()
    await eventually(ranked.is_well)
    assert sorted(ids(await ranked.search())) == sorted(fused)


async def says_so(ranked: Ranked) -> bool:
    health = (await ranked.world.client.get("/health")).json()
    return health["status"] == "degraded" and health["reranker"] not in ("healthy", "disabled")


async def test_nobody_waits_for_a_server_that_hangs_once_that_is_known(ranked: Ranked) -> None:
    """B071."""
    slow(ranked)
    for _ in range(FAILURES):
        assert (await ranked.search())["warnings"][0]["code"] == "rerank_timeout"
    # A probe goes out now and then; each search meanwhile is answered at once.
    began = time.monotonic()
    for _ in range(5):
        answer = await ranked.search()
        assert answer["warnings"][0]["code"] == "rerank_unavailable"
    assert time.monotonic() - began < 3 * BUDGET_S  # five that wait would take five


@NOT_ABOUT_TIME
async def test_a_poisoned_text_does_not_take_reranking_from_the_others(ranked: Ranked) -> None:
    """Refusals of a text are its caller's: the circuit stays closed."""
    OF_THE_TEXTS["422"](ranked)
    for _ in range(FAILURES + 1):
        assert (await ranked.search())["warnings"][0]["code"] == "rerank_unavailable"
    mend(ranked)
    assert (await ranked.search())["reranker_used"] == "default"


@NOT_ABOUT_TIME
async def test_pages_continue_one_another_with_a_reranker(ranked: Ranked) -> None:
    """B047: the depth of reranking does not depend on the page."""
    whole = ids(await ranked.search(top_k=10, rerank_candidates=5))
    pages = [
        await ranked.search(top_k=5, offset=offset, rerank_candidates=10) for offset in (0, 5, 10)
    ]
    joined = [chunk for page in pages for chunk in ids(page)]
    assert joined[:10] == whole
    assert len(set(joined)) == len(joined) == DOCUMENTS
