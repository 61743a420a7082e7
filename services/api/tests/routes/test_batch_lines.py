"""Batches as JSON lines through the whole application."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from starlette.types import Message

from ragbase.storage.pool import Connection

from .conftest import OpenApp

LINES = {"content-type": "application/x-ndjson"}
LONG = "\n\n".join(f"Paragraph {n}: " + "the quick brown fox jumps " * 20 for n in range(12))


def line(number: int, **fields: Any) -> bytes:
    return json.dumps({"title": f"T{number}", "content": f"text {number}", **fields}).encode()


async def post(api: httpx.AsyncClient, content: bytes, **headers: str) -> list[dict[str, Any]]:
    answer = await api.post("/v1/documents/batch", content=content, headers={**LINES, **headers})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/x-ndjson"
    found = [json.loads(text) for text in answer.content.split(b"\n")[:-1]]
    assert [row["index"] for row in found] == list(range(len(found)))
    return found


async def test_broken_lines_are_one_result_each_and_blank_ones_none(
    api: httpx.AsyncClient,
) -> None:
    body = b"\r\n".join([line(0), b"{", b"", b"\xff\xfe", b"  ", b"[" * 50_000, line(1)])
    found = await post(api, body)
    assert [row["status"] for row in found] == [201, 422, 422, 422, 201]
    assert {row["error"]["code"] for row in found if row["error"]} == {"invalid_json"}
    assert await post(api, b"") == []


async def test_limits_are_of_a_line_and_not_of_the_whole(open_app: OpenApp) -> None:
    """Neither RAGBASE_MAX_BATCH nor RAGBASE_MAX_BODY_BYTES bound the number of lines."""
    _, api = await open_app(max_batch=2, max_body_bytes=1024)
    lines = [line(n, metadata={"pad": "x" * 500}) for n in range(10)]
    lines[4] = line(4, content="x" * 2000)
    found = await post(api, b"\n".join(lines))
    assert [row["status"] for row in found] == [201] * 4 + [413] + [201] * 5
    assert "RAGBASE_MAX_BODY_BYTES" in found[4]["error"]["message"]


async def test_lines_become_jobs_on_request(api: httpx.AsyncClient) -> None:
    found = await post(api, b"\n".join([line(0), b"7", line(1)]), prefer="respond-async")
    assert [row["status"] for row in found] == [202, 422, 202]
    assert found[0]["job"]["kind"] == "ingest"


class Caller:
    """A connection by hand: what it says is sent, what it hears are results."""

    def __init__(self, app: FastAPI) -> None:
        self.said: asyncio.Queue[Message] = asyncio.Queue()
        self.heard: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        headers = {**LINES, "host": "127.0.0.1", "transfer-encoding": "chunked"}
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "POST",
            "scheme": "http",
            "path": "/v1/documents/batch",
            "raw_path": b"/v1/documents/batch",
            "root_path": "",
            "query_string": b"",
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }
        self.task = asyncio.create_task(app(scope, self.said.get, self._hear))

    async def _hear(self, message: Message) -> None:
        if message["type"] == "http.response.body" and message["body"]:
            self.heard.put_nowait(json.loads(message["body"]))

    def says(self, body: bytes, *, more: bool = True) -> None:
        self.said.put_nowait({"type": "http.request", "body": body, "more_body": more})

    async def hears(self) -> dict[str, Any]:
        async with asyncio.timeout(30):
            return await self.heard.get()

    async def leaves(self) -> None:
        self.said.put_nowait({"type": "http.disconnect"})
        async with asyncio.timeout(30):
            await self.task


async def test_each_line_is_answered_while_the_next_is_not_written_yet(
    open_app: OpenApp,
) -> None:
    app, _ = await open_app()
    caller = Caller(app)
    for number in range(3):
        caller.says(line(number) + b"\n")
        result = await caller.hears()
        assert (result["index"], result["document"]["title"]) == (number, f"T{number}")
    caller.says(b"", more=False)
    async with asyncio.timeout(30):
        await caller.task
    assert caller.heard.empty()


@pytest.mark.parametrize("complete", [False, True], ids=["body under way", "body complete"])
async def test_what_was_answered_is_stored_and_the_rest_whole_or_not_at_all(
    open_app: OpenApp, connection: Connection, complete: bool
) -> None:
    app, api = await open_app(batch_parallel=4)
    caller = Caller(app)
    lines = b"".join(line(n, content=LONG + str(n)) + b"\n" for n in range(30))
    caller.says(lines, more=not complete)
    answered = [(await caller.hears())["document"] for _ in range(3)]
    await caller.leaves()
    rows = await connection.fetch(
        """
        SELECT d.id, count(c.id) AS chunks, count(e.chunk_id) AS vectors
        FROM documents d LEFT JOIN chunks c ON c.document_id = d.id
        LEFT JOIN embeddings e ON e.chunk_id = c.id GROUP BY d.id
        """
    )
    stored = {row["id"]: (row["chunks"], row["vectors"]) for row in rows}
    whole = answered[0]["chunk_count"]
    assert whole > 1
    assert {document["id"] for document in answered} <= stored.keys()
    assert set(stored.values()) == {(whole, whole)}
    assert len(stored) < 30
    assert (await post(api, line(99)))[0]["status"] == 201


async def test_a_sender_who_stops_gets_what_came_answered_and_then_an_error(
    open_app: OpenApp,
) -> None:
    app, _ = await open_app(body_timeout=0.3)
    caller = Caller(app)
    caller.says(line(0) + b"\n" + line(1)[:10])
    async with asyncio.timeout(30):
        await caller.task
    first, last = await caller.hears(), await caller.hears()
    assert first["status"] == 201
    assert (last["index"], last["status"], last["error"]["code"]) == (1, 408, "body_timeout")
