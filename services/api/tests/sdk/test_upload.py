"""Uploads of many documents."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from ragbase.sdk import ApiError, AsyncClient, ConnectionFailedError
from ragbase.sdk.upload import Draft, FileDraft, Source, upload


class Stub(httpx.AsyncBaseTransport):
    """A server that knows outcomes by external id and counts how many requests are under way."""

    def __init__(self, answers: dict[str, httpx.Response | Exception] | None = None) -> None:
        self.answers = answers or {}
        self.seen: list[str] = []
        self.inflight = self.most = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(await request.aread())
        self.seen.append(body["external_id"])
        self.inflight += 1
        self.most = max(self.most, self.inflight)
        await asyncio.sleep(0.001)
        self.inflight -= 1
        answer = self.answers.get(body["external_id"], stored("created"))
        if isinstance(answer, Exception):
            raise answer
        return answer


def stored(outcome: str | None, *warnings: str) -> httpx.Response:
    row = {
        "id": 1,
        "title": "t",
        "content": "",
        "metadata": {},
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-01T00:00:00Z",
        "chunk_count": 2,
        "outcome": outcome,
        "warnings": [{"code": "w", "message": message} for message in warnings],
    }
    return httpx.Response(201 if outcome == "created" else 200, json=row)


def source(name: str) -> Source:
    return Source(name, lambda: Draft(name, "title", "text"))


def broken(name: str, error: Exception) -> Source:
    def load() -> Draft:
        raise error

    return Source(name, load)


@asynccontextmanager
async def client(stub: Stub) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(transport=stub, retries=0) as opened:
        yield opened


async def test_outcomes_are_counted() -> None:
    stub = Stub({"r": stored("replaced"), "u": stored("unchanged"), "w": stored("created", "hm")})
    async with client(stub) as opened:
        tally = await upload(opened, [source(name) for name in ("n", "r", "u", "w")])
    assert (tally.created, tally.replaced, tally.unchanged) == (2, 1, 1)
    assert (tally.stored, tally.done, tally.chunks) == (4, 4, 8)
    assert [(item.name, item.reason) for item in tally.warnings] == [("w", "hm")]


async def test_never_more_than_jobs_at_once_and_each_exactly_once() -> None:
    stub = Stub()
    names = [str(number) for number in range(40)]
    async with client(stub) as opened:
        await upload(opened, map(source, names), jobs=5)
    assert stub.most == 5
    assert sorted(stub.seen) == sorted(names)


async def test_failures_are_kept_and_the_rest_goes_on() -> None:
    refused = httpx.Response(422, json={"detail": "content: blank", "code": "invalid_input"})
    stub = Stub({"refused": refused, "slow": httpx.ReadTimeout("slow")})
    sources = [
        source("refused"),
        source("slow"),
        broken("unreadable", PermissionError(13, "Permission denied")),
        broken("binary", ValueError("looks like a binary file")),
        Source("empty", lambda: None),
        source("fine"),
    ]
    async with client(stub) as opened:
        tally = await upload(opened, sources, jobs=1)
    assert [(item.name, item.reason.split(" at ")[0]) for item in tally.failures] == [
        ("refused", "content: blank"),
        ("slow", "http://127.0.0.1:5050 did not answer in time"),
        ("unreadable", "Permission denied"),
        ("binary", "looks like a binary file"),
    ]
    assert (tally.created, tally.blank, tally.done) == (1, 1, 6)


async def test_a_lost_server_stops_everything() -> None:
    stub = Stub({"3": httpx.ConnectError("refused")})
    async with client(stub) as opened:
        with pytest.raises(ConnectionFailedError, match="nothing answers"):
            await upload(opened, [source(str(number)) for number in range(50)], jobs=1)
    assert stub.seen == ["0", "1", "2", "3"]


@pytest.mark.parametrize(
    ("status", "code"), [(401, "unauthorized"), (403, "forbidden"), (404, "collection_not_found")]
)
async def test_what_holds_for_all_documents_is_said_once(status: int, code: str) -> None:
    stub = Stub({"a": httpx.Response(status, json={"detail": "no", "code": code})})
    async with client(stub) as opened:
        with pytest.raises(ApiError) as caught:
            await upload(opened, [source("a"), source("b")], jobs=1)
    assert caught.value.code == code
    assert stub.seen == ["a"]


async def test_a_file_is_sent_again_from_its_start_when_the_server_is_busy(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"x" * 100_000)
    bodies: list[bytes] = []

    async def answer(request: httpx.Request) -> httpx.Response:
        bodies.append(await request.aread())
        if len(bodies) == 1:
            return httpx.Response(429, json={"detail": "busy"}, headers={"retry-after": "0"})
        return stored("created")

    transport = httpx.MockTransport(answer)
    async with AsyncClient(transport=transport, retries=1) as opened:
        tally = await upload(opened, [Source("a", lambda: FileDraft("a", path))])
    assert tally.created == 1
    assert [body.count(b"x" * 100_000) for body in bodies] == [1, 1]
    assert b'filename="a.txt"' in bodies[1]
    assert b"multipart/form-data" not in bodies[1]
