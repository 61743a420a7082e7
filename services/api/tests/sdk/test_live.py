"""Both clients against the real API."""

from __future__ import annotations

import json
import uuid
from functools import partial
from pathlib import Path

import httpx
import pytest

from ragbase.sdk import ApiError, AsyncClient, Client
from ragbase.sdk.upload import Draft, FileDraft, Source, upload


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


@pytest.mark.parametrize("given", ["path", "bytes"])
def test_a_file_is_uploaded_and_read_by_the_server(
    client: Client, collection: str, tmp_path: Path, given: str
) -> None:
    path = tmp_path / "tides.html"
    path.write_text("<title>Tides</title><h1>Tides</h1><p>High water at noon.")
    file = path if given == "path" else path.read_bytes()
    stored = client.documents.upload(
        file, "tides.html", external_id="t", collection=collection, metadata={"n": 1}, dedupe=True
    )
    assert (stored.title, stored.outcome, stored.external_id) == ("Tides", "created", "t")
    assert stored.content == "# Tides\n\nHigh water at noon."
    assert stored.metadata == {"n": 1, "file": {"media_type": "text/html"}}
    again = client.documents.upload(path, external_id="t", title="Own", collection=collection)
    assert (again.id, again.title, again.outcome) == (stored.id, "Own", "replaced")
    with pytest.raises(ApiError, match=r"^file: .*no text") as caught:
        client.documents.upload(b"<p> </p>", "blank.html", collection=collection)
    assert caught.value.code == "no_text"


async def test_files_and_texts_go_together(api_url: str, collection: str, tmp_path: Path) -> None:
    names = ["a.txt", "b.md", "blank.txt"]
    for name, text in zip(names, ("one", "# Two", " \n"), strict=True):
        (tmp_path / name).write_text(text)
    sources = [Source(name, partial(FileDraft, name, tmp_path / name)) for name in names]
    sources.append(Source("gone", partial(FileDraft, "gone", tmp_path / "gone")))
    sources.append(Source("text", lambda: Draft("text", "Three", "three")))
    async with AsyncClient(api_url) as client:
        tally = await upload(client, sources, collection=collection)
        again = await upload(client, sources, collection=collection)
    assert (tally.created, tally.blank) == (3, 1)
    assert [(item.name, item.reason) for item in tally.failures] == [
        ("gone", "No such file or directory")
    ]
    assert (again.unchanged, again.blank) == (3, 1)


@pytest.mark.parametrize("wanted", [None, True, False])
async def test_context_lines_are_asked_for_or_left_to_the_collection(wanted: bool | None) -> None:
    sent: list[dict[str, object]] = []

    def refusing(request: httpx.Request) -> httpx.Response:
        sent.append(json.loads(request.content))
        return httpx.Response(422, json={"detail": "no", "code": "no"})

    sources = [Source("a", lambda: Draft("a", "A", "text"))]
    async with AsyncClient(transport=httpx.MockTransport(refusing)) as client:
        tally = await upload(client, sources, contextual_retrieval=wanted)
    assert len(tally.failures) == 1
    assert sent[0].get("contextual_retrieval") is wanted
