"""Keys of the second API: the same as the first's, in the shapes of its own errors."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
import pytest_asyncio

from ragbase.main_localrag import create_localrag_app
from ragbase.routes.openapi import requirements
from ragbase.services.keys_format import new_key
from ragbase.settings import Settings
from ragbase.storage.api_keys import insert_key
from ragbase.storage.pool import Database

from .conftest import OpenLocalrag
from .stub_models import CHAT, EMBEDDING, StubModels

ADMIN, READER, CLIENT = (new_key().text for _ in range(3))
SCOPES = {
    "/v1/chunk": "read",
    "/v1/query": "read",
    "/v1/retrieve": "read",
    "/v1/documents": "read",
    "/v1/models": "read",
    "/v1/store": "write",
    "/v1/delete": "write",
    "/v1/models/load": "write",
    "/v1/models/unload": "write",
}


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


@pytest_asyncio.fixture
async def guarded(open_localrag: OpenLocalrag, gguf: StubModels) -> httpx.AsyncClient:
    """With authentication on; keys that may do all, read, read and write."""
    _, client = await open_localrag(
        gguf=gguf,
        auth="on",
        admin_key=ADMIN,
        probe_key=READER,
        client_key=CLIENT,
        localrag_embedding_model=EMBEDDING,
        localrag_chat_model=CHAT,
    )
    return client


def test_every_route_names_its_scope() -> None:
    app = create_localrag_app(Settings())
    found = {
        path: needs.scope
        for (path, _), needs in requirements(app).items()
        if needs is not None and path.startswith("/v1")
    }
    assert found == SCOPES


@pytest.mark.parametrize("path", SCOPES)
async def test_without_a_key_nobody_gets_in(guarded: httpx.AsyncClient, path: str) -> None:
    """L32: 401 before the body is read, in the shape of the route."""
    method = "GET" if path in ("/v1/documents", "/v1/models") else "POST"
    for headers in ({}, bearer("rb_x_y"), bearer(new_key().text)):
        answer = await guarded.request(method, path, headers=headers)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        error = answer.json()["error"]
        assert isinstance(error, dict) == (path in ("/v1/chunk", "/v1/query", "/v1/models"))
    unknown = await guarded.get("/v1/else")
    assert unknown.status_code == 401


async def test_the_root_and_liveness_are_open(guarded: httpx.AsyncClient) -> None:
    assert (await guarded.get("/")).text == "Local RAG API Service"
    assert (await guarded.get("/health/live")).status_code == 200
    assert (await guarded.get("/health/ready")).json() == {"status": "ready", "reason": None}


@pytest.mark.parametrize("path", [path for path, scope in SCOPES.items() if scope == "write"])
async def test_a_reader_changes_nothing(guarded: httpx.AsyncClient, path: str) -> None:
    body = {"document": "a", "file_id": "a", "model": CHAT, "type": "chat"}
    refused = await guarded.post(path, json=body, headers=bearer(READER))
    assert refused.status_code == 403
    allowed = await guarded.post(path, json=body, headers=bearer(CLIENT))
    assert allowed.status_code in (200, 404)


async def bound_to(db: Database, collection: str) -> str:
    """A key that sees one collection only."""
    key = new_key()
    async with db.transaction() as connection:
        await insert_key(
            connection,
            key_id=key.key_id,
            secret_hash=key.secret_hash,
            name="bound",
            scopes=["read", "write"],
            collections=[collection],
            expires_at=None,
        )
    return key.text


async def test_a_key_of_another_collection_finds_no_files(
    guarded: httpx.AsyncClient, db: Database
) -> None:
    stored = await guarded.post("/v1/store", json={"document": "alpha"}, headers=bearer(CLIENT))
    file_id = stored.json()["file_id"]
    other, own = await bound_to(db, "other"), await bound_to(db, "localrag")

    async def ask(key: str, path: str, body: dict[str, Any] | None = None) -> httpx.Response:
        method = "GET" if body is None else "POST"
        return await guarded.request(method, path, json=body, headers=bearer(key))

    assert (await ask(other, "/v1/documents")).json()["pagination"]["total_items"] == 0
    assert (await ask(other, "/v1/retrieve", {"query": "alpha"})).json()["results"] == []
    assert (await ask(other, "/v1/delete", {"file_id": file_id})).status_code == 404
    assert (await ask(other, "/v1/store", {"document": "b"})).status_code == 403
    chunk = {"text": "alpha", "model": EMBEDDING}
    assert (await ask(other, "/v1/chunk", chunk)).status_code == 200
    assert (await ask(own, "/v1/documents")).json()["pagination"]["total_items"] == 1
    assert len((await ask(own, "/v1/retrieve", {"query": "alpha"})).json()["results"]) == 1
    assert (await ask(own, "/v1/delete", {"file_id": file_id})).status_code == 200


async def test_writes_in_flight_are_bounded(open_localrag: OpenLocalrag, gguf: StubModels) -> None:
    """L32: 429 with Retry-After, in the shape of the route, rather than a collapse."""
    gguf.delay_s = 0.3
    _, client = await open_localrag(
        gguf=gguf,
        max_inflight_writes=1,
        localrag_embedding_model=EMBEDDING,
        localrag_chat_model=CHAT,
    )
    body = {"document": "alpha", "generateContexts": True}
    slow = asyncio.create_task(client.post("/v1/store", json=body))
    await asyncio.sleep(0.1)
    shed = await client.post("/v1/store", json=body)
    assert shed.status_code == 429
    assert "retry-after" in shed.headers
    assert isinstance(shed.json()["error"], str)
    assert (await client.get("/v1/documents")).status_code == 200
    assert (await slow).status_code == 200
