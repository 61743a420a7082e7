"""Both clients against the real API."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from ragbase.sdk import ApiError, AsyncClient, Client
from ragbase.sdk.upload import Draft, Source, upload


@pytest.fixture
def client(api_url: str) -> Iterator[Client]:
    with Client(api_url) as opened:
        yield opened


@pytest.fixture
def collection(client: Client) -> Iterator[str]:
    name = f"t-{uuid.uuid4().hex[:12]}"
    client.collections.create(name)
    yield name
    client.collections.delete(name)


def test_a_documents_life(client: Client, collection: str) -> None:
    created = client.documents.create(
        "Tides", "High water at noon.", external_id="t", collection=collection, metadata={"n": 1}
    )
    assert created.outcome == "created"
    same = client.documents.create(
        "Tides", "High water at noon.", external_id="t", collection=collection, metadata={"n": 1}
    )
    assert (same.id, same.outcome) == (created.id, "unchanged")
    replaced = client.documents.create(
        "Tides", "Low water at noon.", external_id="t", collection=collection
    )
    assert replaced.outcome == "replaced"
    (found,) = client.search("low water", collection=collection, explain=True).results
    assert found.document_id == replaced.id
    assert found.explain is not None
    detail = client.documents.get(replaced.id)
    assert [chunk.content for chunk in detail.chunks] == ["Low water at noon."]
    (listed,) = client.documents.list(collection=collection, include_content=False)
    assert (listed.id, listed.content) == (replaced.id, "")
    client.documents.delete(replaced.id)
    with pytest.raises(ApiError) as gone:
        client.documents.get(replaced.id)
    assert gone.value.status == 404
    assert gone.value.request_id


def test_a_collections_life(client: Client) -> None:
    name = f"t-{uuid.uuid4().hex[:12]}"
    client.collections.create(name, language="german")
    with pytest.raises(ApiError) as taken:
        client.collections.create(name)
    assert taken.value.status == 409
    fusion = {"method": "rrf", "k": 7}
    assert client.collections.put(name, language="german", fusion=fusion).fusion is not None
    stored = client.collections.get(name)
    assert stored.fusion is not None
    assert stored.fusion.model_dump() == fusion
    assert name in {row.name for row in client.collections.list()}
    client.collections.delete(name)
    with pytest.raises(ApiError) as gone:
        client.collections.get(name)
    assert (gone.value.status, gone.value.code) == (404, "collection_not_found")


def test_embed_and_health(client: Client) -> None:
    embedded = client.embed(["one", "two"])
    assert [len(vector) for vector in embedded.embeddings] == [embedded.dimensions] * 2
    assert client.health().status == "ok"
    assert client.ready().status == "ready"
    models = client.health_models()
    assert models.embedding is not None
    assert models.embedding["model_id"] == embedded.model


def test_refusals_name_the_field(client: Client) -> None:
    with pytest.raises(ApiError, match=r"^top_k: ") as caught:
        client.search("x", top_k=0)
    assert caught.value.status == 422


async def test_an_upload_over_http(api_url: str, collection: str) -> None:
    sources = [
        Source(str(n), lambda n=n: Draft(str(n), f"Note {n}", f"text of note {n}"))  # type: ignore[misc]
        for n in range(12)
    ]
    async with AsyncClient(api_url) as client:
        first = await upload(client, sources, collection=collection, jobs=4)
        second = await upload(client, sources, collection=collection, jobs=4)
        documents = [
            row.external_id async for row in client.documents.iterate(collection=collection)
        ]
    assert (first.created, first.chunks) == (12, 12)
    assert second.unchanged == 12
    assert sorted(documents, key=lambda name: int(name or "")) == [str(n) for n in range(12)]
