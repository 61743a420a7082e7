"""A change of metadata alone: filters see it at once, and nothing else changes."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from .conftest import Create

MODES = ["/v1/search", "/v1/search/keyword", "/v1/search/semantic"]


async def found(api: httpx.AsyncClient, mode: str, condition: dict[str, Any]) -> list[int]:
    body = {"query": "ferry timetable", "filter": condition}
    answer = await api.post(mode, json=body)
    assert answer.status_code == 200, answer.text
    return [row["document_id"] for row in answer.json()["results"]]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shown", [True, False], ids=["in the header", "not in the header"])
async def test_filters_see_patched_metadata_at_once(
    api: httpx.AsyncClient, create: Create, mode: str, shown: bool
) -> None:
    """B051."""
    old, new = ("a", "b") if shown else (["a"], ["b"])
    made = await create("Ferry", "The ferry timetable.", metadata={"port": old, "kept": 1})
    url = f"/v1/documents/{made['id']}"
    before = (await api.get(url)).json()
    assert await found(api, mode, {"port": "a"}) == [made["id"]]
    patched = await api.patch(url, json={"metadata": {"port": new}, "merge": True})
    assert patched.status_code == 200
    assert await found(api, mode, {"port": "a"}) == []
    assert await found(api, mode, {"port": "b", "kept": 1}) == [made["id"]]
    detail = (await api.get(url)).json()
    assert (detail["content"], detail["chunk_count"]) == ("The ferry timetable.", 1)
    assert detail["created_at"] == made["created_at"]
    chunks = [chunk["id"] for chunk in detail["chunks"]]
    assert (chunks == [chunk["id"] for chunk in before["chunks"]]) is not shown


async def test_a_patched_document_is_deleted_by_its_new_metadata(
    api: httpx.AsyncClient, create: Create
) -> None:
    """B051: bulk deletion reads the same metadata as search."""
    made = await create("Ferry", "The ferry timetable.", metadata={"port": "a"})
    await api.patch(f"/v1/documents/{made['id']}", json={"metadata": {"port": "b"}})
    old = await api.post("/v1/documents/delete", json={"filter": {"port": "a"}})
    new = await api.post("/v1/documents/delete", json={"filter": {"port": "b"}})
    assert (old.json()["deleted"], new.json()["deleted"]) == (0, 1)


@pytest.mark.parametrize("value", ["true", "false", "", "what"])
async def test_the_graph_header_and_context_are_accepted_also_for_batches(
    api: httpx.AsyncClient, value: str
) -> None:
    body = {"title": "T", "content": "c", "contextual_retrieval": True}
    headers = {"x-lightrag-ingest": value}
    alone = await api.post("/v1/documents", json=body, headers=headers)
    batch = await api.post("/v1/documents/batch", json=[body], headers=headers)
    assert alone.status_code == 201
    (result,) = batch.json()["results"]
    for document in (alone.json(), result["document"]):
        assert document["graph"]["status"] == "off"
        assert [warning["code"] for warning in document["warnings"]] == ["context_unavailable"]
