"""Document routes (contract §4, with upsert, dedupe and PATCH)."""

from __future__ import annotations

import asyncio
from datetime import datetime

import httpx
import pytest

from ragbase.storage.pool import Connection

from .conftest import Create

CONTRACT_FIELDS = {
    "id", "title", "content", "metadata", "created_at", "updated_at", "chunk_count",
}  # fmt: skip

LONG = "\n\n".join(f"Paragraph {n}: " + "the quick brown fox jumps " * 4 for n in range(60))
VERSION_A = "alpha " * 900
VERSION_B = "beta " * 1400


async def test_a_created_document_has_the_contracts_fields(api: httpx.AsyncClient) -> None:
    body = {"title": "Harbour", "content": "Ships moor.", "metadata": {"a": [1, {"b": None}]}}
    answer = await api.post("/v1/documents", json=body)
    assert answer.status_code == 201
    document = answer.json()
    assert document.keys() >= CONTRACT_FIELDS
    assert document["content"] == "Ships moor."
    assert document["metadata"] == body["metadata"]
    assert document["chunk_count"] == 1
    assert document["graph"] == {"status": "off", "job_id": None}
    assert datetime.fromisoformat(document["created_at"]).tzinfo is not None


async def test_short_text_is_one_chunk_equal_to_the_text(
    api: httpx.AsyncClient, create: Create
) -> None:
    made = await create("Harbour", "Ships moor at the quay.")
    detail = (await api.get(f"/v1/documents/{made['id']}")).json()
    (chunk,) = detail["chunks"]
    assert chunk["content"] == "Ships moor at the quay."
    assert chunk["token_count"] == 5
    assert (chunk["start"], chunk["end"]) == (0, len(chunk["content"]))


async def test_chunks_are_slices_of_the_text_without_gaps_in_their_numbers(
    api: httpx.AsyncClient, create: Create
) -> None:
    made = await create("Long", LONG)
    detail = (await api.get(f"/v1/documents/{made['id']}")).json()
    chunks = detail["chunks"]
    assert len(chunks) > 1
    assert [chunk["chunk_index"] for chunk in chunks] == list(range(len(chunks)))
    for chunk in chunks:
        assert detail["content"][chunk["start"] : chunk["end"]] == chunk["content"]
        assert 1 <= chunk["token_count"] <= 512


async def test_the_same_text_twice_is_two_documents(create: Create) -> None:
    first, second = await create("T", "same"), await create("T", "same")
    assert first["id"] != second["id"]


@pytest.mark.parametrize("field", ["title", "content"])
@pytest.mark.parametrize("value", ["", "   \n\t ", None, 7, ["x"]])
async def test_a_missing_blank_or_mistyped_text_is_refused(
    api: httpx.AsyncClient, field: str, value: object
) -> None:
    body = {"title": "T", "content": "C", field: value}
    answer = await api.post("/v1/documents", json=body)
    assert answer.status_code == 422
    assert field in str(answer.json()["detail"][0]["loc"])


@pytest.mark.parametrize("text", ["a\x00b", "a\ud800b"])
@pytest.mark.parametrize("place", ["title", "content", "external_id", "key", "value", "nested"])
async def test_text_that_cannot_be_stored_is_refused_by_name(
    api: httpx.AsyncClient, text: str, place: str
) -> None:
    """B001, B003, B005: NUL and lone surrogates, wherever they stand, are a 422, never a 500."""
    import json

    body: dict[str, object] = {"title": "T", "content": "C", "external_id": "e"}
    bad_metadata = {"key": {text: 1}, "value": {"a": text}, "nested": {"a": [{"b": text}]}}
    if place in bad_metadata:
        body["metadata"] = bad_metadata[place]
    else:
        body[place] = text
    answer = await api.post(
        "/v1/documents", content=json.dumps(body), headers={"content-type": "application/json"}
    )
    assert answer.status_code == 422
    assert answer.json()["code"] in ("invalid_text", "validation_error")
    expected = "metadata" if place in bad_metadata else place
    assert expected in ".".join(map(str, answer.json()["detail"][0]["loc"]))
    listed = await api.get("/v1/documents")
    assert listed.headers["x-total-count"] == "0"


async def test_markup_only_gives_no_chunk_and_says_so(create: Create) -> None:
    """B015."""
    made = await create("Empty", "<!-- nothing to see -->\n")
    assert made["chunk_count"] == 0
    assert [warning["code"] for warning in made["warnings"]] == ["no_chunks"]


async def test_context_without_an_llm_is_a_warning(create: Create) -> None:
    made = await create("T", "text", contextual_retrieval=True)
    assert [warning["code"] for warning in made["warnings"]] == ["context_unavailable"]


async def test_an_external_id_replaces(api: httpx.AsyncClient, create: Create) -> None:
    first = await create("T", "old words", external_id="e1")
    again = await api.post(
        "/v1/documents", json={"title": "T", "content": "new words", "external_id": "e1"}
    )
    assert again.status_code == 200
    assert again.json()["outcome"] == "replaced"
    assert again.json()["id"] == first["id"]
    found = await api.post("/v1/search/keyword", json={"query": "old"})
    assert found.json()["results"] == []
    assert (await api.get("/v1/documents")).headers["x-total-count"] == "1"


async def test_an_unchanged_document_costs_nothing(
    api: httpx.AsyncClient, create: Create, database_url: str
) -> None:
    first = await create("T", "words", external_id="e1", metadata={"b": 1, "a": 2})
    chunk = (await api.get(f"/v1/documents/{first['id']}")).json()["chunks"][0]["id"]
    again = await create("T", "words", external_id="e1", metadata={"a": 2, "b": 1})
    assert again["outcome"] == "unchanged"
    assert again["updated_at"] == first["updated_at"]
    same = (await api.get(f"/v1/documents/{first['id']}")).json()["chunks"][0]["id"]
    assert same == chunk


async def test_only_the_text_changes_then_only_the_metadata(
    api: httpx.AsyncClient, create: Create
) -> None:
    """B051."""
    await create("T", "about herrings", external_id="e", metadata={"lang": "en"})
    await create("T", "about mackerels", external_id="e", metadata={"lang": "en"})
    found = await api.post("/v1/search/keyword", json={"query": "mackerel"})
    assert found.json()["total"] == 1
    await create("T", "about mackerels", external_id="e", metadata={"lang": "de"})
    body = {"query": "mackerel", "filter": {"lang": "de"}}
    assert (await api.post("/v1/search/keyword", json=body)).json()["total"] == 1


async def test_parallel_posts_of_one_external_id_make_one_document(api: httpx.AsyncClient) -> None:
    """B053."""
    body = {"title": "T", "content": "same words", "external_id": "one"}
    answers = await asyncio.gather(*(api.post("/v1/documents", json=body) for _ in range(10)))
    assert sorted(answer.status_code for answer in answers) == [200] * 9 + [201]
    assert (await api.get("/v1/documents")).headers["x-total-count"] == "1"


async def test_parallel_posts_of_equal_content_with_dedupe_make_one_document(
    api: httpx.AsyncClient,
) -> None:
    """B053."""
    body = {"title": "T", "content": "same words", "dedupe": True}
    answers = await asyncio.gather(*(api.post("/v1/documents", json=body) for _ in range(10)))
    assert sorted(answer.status_code for answer in answers) == [200] * 9 + [201]
    assert len({answer.json()["id"] for answer in answers}) == 1


async def test_racing_versions_end_as_exactly_one_complete_version(api: httpx.AsyncClient) -> None:
    """B055."""
    for _ in range(4):
        bodies = [
            {"title": "T", "content": text, "external_id": "race"}
            for text in (VERSION_A, VERSION_B)
        ]
        answers = await asyncio.gather(*(api.post("/v1/documents", json=b) for b in bodies))
        assert {answer.status_code for answer in answers} <= {200, 201}
        (listed,) = (await api.get("/v1/documents")).json()
        detail = (await api.get(f"/v1/documents/{listed['id']}")).json()
        word = detail["content"].split()[0]
        assert detail["content"] in (VERSION_A, VERSION_B)
        assert {w for c in detail["chunks"] for w in c["content"].split()} == {word}
        assert len(detail["chunks"]) == detail["chunk_count"] == listed["chunk_count"]


async def test_patch_replaces_or_merges_metadata(api: httpx.AsyncClient, create: Create) -> None:
    made = await create("T", "words", metadata={"a": 1, "b": 2})
    url = f"/v1/documents/{made['id']}"
    merged = await api.patch(url, json={"metadata": {"b": None, "c": 3}, "merge": True})
    assert merged.json()["metadata"] == {"a": 1, "c": 3}
    replaced = await api.patch(url, json={"metadata": {"only": True}})
    assert replaced.json()["metadata"] == {"only": True}
    assert (await api.get(url)).json()["content"] == "words"


async def test_patched_metadata_is_searchable_at_once(
    api: httpx.AsyncClient, create: Create
) -> None:
    made = await create("Ferry", "timetable", metadata={"port": "Aldermouth"})
    await api.patch(f"/v1/documents/{made['id']}", json={"metadata": {"port": "Brackwater"}})
    new = await api.post("/v1/search/keyword", json={"query": "Brackwater"})
    old = await api.post("/v1/search/keyword", json={"query": "Aldermouth"})
    assert (new.json()["total"], old.json()["total"]) == (1, 0)


async def test_delete_removes_every_trace(
    api: httpx.AsyncClient, create: Create, connection: Connection
) -> None:
    made = await create("T", LONG)
    url = f"/v1/documents/{made['id']}"
    assert (await api.delete(url)).status_code == 204
    assert (await api.get(url)).status_code == 404
    assert (await api.delete(url)).json()["detail"] == "Document not found"
    for table in ("documents", "chunks", "embeddings", "postings"):
        assert await connection.fetchval(f"SELECT count(*) FROM {table}") == 0


async def test_the_list_is_newest_first_with_a_total(
    api: httpx.AsyncClient, create: Create
) -> None:
    made = [(await create(f"T{n}", f"text {n}"))["id"] for n in range(5)]
    page = await api.get("/v1/documents", params={"offset": 1, "limit": 2})
    assert [row["id"] for row in page.json()] == [made[3], made[2]]
    assert page.headers["x-total-count"] == "5"
    bare = await api.get("/v1/documents", params={"include_content": False})
    assert {row["content"] for row in bare.json()} == {""}


@pytest.mark.parametrize("document_id", ["9223372036854775808", "x", "1.5", "1.0", "1_0", "+1"])
async def test_impossible_ids_are_422(api: httpx.AsyncClient, document_id: str) -> None:
    """R47."""
    assert (await api.get(f"/v1/documents/{document_id}")).status_code == 422


@pytest.mark.parametrize("document_id", ["0", "-1", "9223372036854775807"])
async def test_absent_ids_are_404(api: httpx.AsyncClient, document_id: str) -> None:
    assert (await api.get(f"/v1/documents/{document_id}")).status_code == 404


async def test_long_values_are_stored_and_searchable(
    api: httpx.AsyncClient, create: Create
) -> None:
    """B011."""
    blob = "QUJD" * 25_000
    made = await create("x" * 9_000, f"before {blob} herring", metadata={"k": "v" * 10_000})
    assert made["chunk_count"] >= 1
    found = await api.post("/v1/search/keyword", json={"query": "herring"})
    assert found.json()["total"] >= 1
