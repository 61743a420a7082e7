"""One store, two APIs: the first lists, searches and deletes what the second stores."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest
import pytest_asyncio

from ragbase.clients.embedder import Embedder
from ragbase.main import create_app
from ragbase.settings import Settings
from ragbase.storage.pool import Connection

from .conftest import OpenLocalrag
from .stub_models import CHAT, EMBEDDING, StubModels
from .test_files import listed, store
from .test_retrieve import rows


@pytest_asyncio.fixture
async def first(database_url: str, embedder: Embedder) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the first API on the same database."""
    app = create_app(Settings(database_url=database_url, pool_min=0, workers=0), embedder=embedder)
    async with app.router.lifespan_context(app):
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            yield client


async def test_files_are_documents_of_the_collection_localrag(
    local: httpx.AsyncClient, first: httpx.AsyncClient
) -> None:
    text = "Ships moor\nat the north quay. " * 4
    stored = await store(local, text, folder_id="harbour", chunkSize=10, overlap=2)
    (document,) = (await first.get("/v1/documents?collection=localrag")).json()
    assert document["external_id"] == stored["file_id"]
    assert document["metadata"] == {"folder_id": "harbour"}
    assert document["content"] == text
    assert document["title"].startswith("Ships moor at the north quay.")
    whole = (await first.get(f"/v1/documents/{document['id']}")).json()
    assert [chunk["content"] for chunk in whole["chunks"]] == [
        chunk["content"] for chunk in stored["chunks"]
    ]
    for chunk in whole["chunks"]:
        assert " ".join(text[chunk["start"] : chunk["end"]].split()) == chunk["content"]


async def test_the_first_api_finds_them_by_keywords_contexts_included(
    local: httpx.AsyncClient, first: httpx.AsyncClient, gguf: StubModels
) -> None:
    gguf.write = lambda _: "On lighthouses of Iceland."
    stored = await store(local, "Ships moor at the north quay.", generateContexts=True)
    for query in ("mooring ships", "lighthouse"):
        body = {"query": query, "collection": "localrag"}
        found = (await first.post("/v1/search/keyword", json=body)).json()
        assert [row["external_id"] for row in found["results"]] == [stored["file_id"]]
    filtered = {"query": "ships", "collection": "localrag", "filter": {"folder_id": "x"}}
    assert (await first.post("/v1/search/keyword", json=filtered)).json()["total"] == 0


async def test_the_first_api_finds_them_by_meaning_where_both_embed_alike(
    served: httpx.AsyncClient, first: httpx.AsyncClient
) -> None:
    stored = await store(served, "Ships moor at the north quay.")
    body = {"query": "where do boats tie up", "collection": "localrag"}
    found = (await first.post("/v1/search/semantic", json=body)).json()
    assert [row["external_id"] for row in found["results"]] == [stored["file_id"]]
    (row,) = await rows(served, "where do boats tie up")
    assert found["results"][0]["score"] == pytest.approx(row["scores"]["combined"], abs=1e-6)


async def test_deleting_on_either_side_cleans_both(
    local: httpx.AsyncClient, first: httpx.AsyncClient, connection: Connection
) -> None:
    one = await store(local, "alpha beta", generateContexts=True)
    two = await store(local, "gamma delta", generateContexts=True)
    documents = (await first.get("/v1/documents?collection=localrag")).json()
    by_file = {each["external_id"]: each["id"] for each in documents}
    assert (await first.delete(f"/v1/documents/{by_file[one['file_id']]}")).is_success
    assert [row["file_id"] for row in (await listed(local))["data"]] == [two["file_id"]]
    gone = await local.post("/v1/delete", json={"file_id": one["file_id"]})
    assert gone.status_code == 404
    await local.post("/v1/delete", json={"file_id": two["file_id"]})
    assert (await first.get(f"/v1/documents/{by_file[two['file_id']]}")).status_code == 404
    for table in ("documents", "chunks", "embeddings", "dataset"):
        assert await connection.fetchval(f"SELECT count(*) FROM {table}") == 0


async def test_deleting_the_collection_leaves_an_empty_second_api(
    local: httpx.AsyncClient, first: httpx.AsyncClient
) -> None:
    await store(local, "alpha")
    assert (await first.delete("/v1/collections/localrag")).is_success
    assert (await listed(local))["data"] == []
    again = await store(local, "alpha again")
    assert [row["file_id"] for row in (await listed(local))["data"]] == [again["file_id"]]


async def test_the_first_api_stores_nothing_among_the_files(
    local: httpx.AsyncClient, first: httpx.AsyncClient
) -> None:
    """They are chunked and embedded by other rules."""
    await store(local, "alpha")
    body = {"title": "T", "content": "C", "collection": "localrag"}
    answer = await first.post("/v1/documents", json=body)
    assert (answer.status_code, answer.json()["code"]) == (409, "collection_reserved")
    lines = await first.post("/v1/documents/batch", json={"documents": [body]})
    assert lines.json()["results"][0]["status"] == 409, lines.text


async def test_metadata_change_without_touching_chunks_or_vectors(
    local: httpx.AsyncClient, first: httpx.AsyncClient, connection: Connection
) -> None:
    stored = await store(local, "alpha beta gamma delta", chunkSize=2, overlap=0, folder_id="f")
    before = await connection.fetch("SELECT id, content_embedding FROM dataset ORDER BY id")
    (document,) = (await first.get("/v1/documents?collection=localrag")).json()
    answer = await first.patch(
        f"/v1/documents/{document['id']}", json={"metadata": {"folder_id": "g", "year": 2024}}
    )
    assert answer.is_success, answer.text
    after = await connection.fetch("SELECT id, content_embedding FROM dataset ORDER BY id")
    assert [row["id"] for row in before] == [row["id"] for row in after]
    assert [row.tolist() for _, row in before] == [row.tolist() for _, row in after]
    (found,) = await rows(local, "alpha", folder_id="g", top_k=1)
    assert found["metadata"] == {"file_id": stored["file_id"], "folder_id": "g"}
    assert await rows(local, "alpha", folder_id="f") == []


async def test_a_folder_changed_by_the_first_api_is_found_as_one_that_was_stored(
    local: httpx.AsyncClient, first: httpx.AsyncClient
) -> None:
    """A number became one in the metadata, and no folder of the second API matched it."""
    await store(local, "alpha", folder_id="f")
    (document,) = (await first.get("/v1/documents?collection=localrag")).json()

    async def patched(folder: object) -> httpx.Response:
        return await first.patch(
            f"/v1/documents/{document['id']}", json={"metadata": {"folder_id": folder}}
        )

    answer = await patched(7)
    assert answer.json()["metadata"] == {"folder_id": "7"}
    (listed,) = (await local.get("/v1/documents?folder_id=7")).json()["data"]
    (found,) = await rows(local, "alpha", folder_id=7)
    assert listed["folder_id"] == found["metadata"]["folder_id"] == "7"
    for bad in ("f" * 33, ["f"], {"f": 1}, True, 1.5):
        refused = await patched(bad)
        assert (refused.status_code, "32 characters" in refused.text) == (422, True), bad
    assert len(await rows(local, "alpha", folder_id="7")) == 1
    for none in (0, "", False):
        assert (await patched(none)).json()["metadata"] == {}
    assert len(await rows(local, "alpha")) == 1


async def test_two_embedding_models_live_side_by_side(
    open_localrag: OpenLocalrag, gguf: StubModels, database_url: str, embedder: Embedder
) -> None:
    """The files' model is none of the first API's business, at its next start either."""
    _, client = await open_localrag(
        gguf=gguf, localrag_embedding_model=EMBEDDING, localrag_chat_model=CHAT
    )
    await store(client, "alpha beta")
    for _ in range(2):
        settings = Settings(database_url=database_url, pool_min=0, workers=0)
        app = create_app(settings, embedder=embedder)
        async with app.router.lifespan_context(app):
            transport = httpx.ASGITransport(app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as api:
                made = await api.post("/v1/documents", json={"title": "T", "content": "alpha"})
                assert made.status_code == 201
                found = await api.post("/v1/search/semantic", json={"query": "alpha"})
                assert found.json()["total"] >= 1
    assert len(await rows(client, "alpha")) == 1
