"""Collection routes, and that collections do not see each other."""

from __future__ import annotations

import asyncio
import json

import httpx
import pytest

from .conftest import Create


async def test_a_collection_is_made_described_changed_and_removed(api: httpx.AsyncClient) -> None:
    made = await api.put("/v1/collections/papers", json={"language": "de"})
    assert made.status_code == 201
    assert made.json()["language"] == "german"
    assert made.json()["fusion"]["method"] == "weighted"
    changed = await api.put(
        "/v1/collections/papers",
        json={
            "language": "german",
            "fusion": {"method": "rrf", "k": 10},
            "chunking": {"size": 100, "overlap": 10},
        },
    )
    assert changed.status_code == 200
    described = (await api.get("/v1/collections/papers")).json()
    assert described["fusion"] == {"method": "rrf", "k": 10}
    assert described["chunking"] == {"size": 100, "overlap": 10}
    assert (described["documents"], described["chunks"]) == (0, 0)
    names = [row["name"] for row in (await api.get("/v1/collections")).json()]
    assert names == ["default", "papers"]
    assert (await api.delete("/v1/collections/papers")).status_code == 204
    assert (await api.get("/v1/collections/papers")).json()["code"] == "collection_not_found"


@pytest.mark.parametrize("settings", [{}, {"language": "german"}])
async def test_putting_the_same_twice_changes_nothing(
    api: httpx.AsyncClient, settings: dict[str, str]
) -> None:
    made = await api.put("/v1/collections/papers", json=settings)
    again = await api.put("/v1/collections/papers", json=settings)
    assert (made.status_code, again.status_code) == (201, 200)
    assert again.json() == made.json()


async def test_the_same_put_at_the_same_time_makes_one(api: httpx.AsyncClient) -> None:
    calls = [api.put("/v1/collections/papers", json={}) for _ in range(8)]
    codes = sorted([answer.status_code for answer in await asyncio.gather(*calls)])
    assert codes == [200] * 7 + [201]


async def test_posting_a_taken_name_is_409(api: httpx.AsyncClient) -> None:
    assert (await api.post("/v1/collections", json={"name": "a"})).status_code == 201
    taken = await api.post("/v1/collections", json={"name": "a"})
    assert (taken.status_code, taken.json()["code"]) == (409, "collection_exists")


async def test_default_is_always_there(api: httpx.AsyncClient) -> None:
    assert (await api.delete("/v1/collections/default")).status_code == 409
    assert (await api.get("/v1/collections/default")).json()["fusion"] is None
    assert (await api.put("/v1/collections/default", json={})).json()["fusion"] is None


async def test_an_unknown_collection_is_404_and_is_not_made(api: httpx.AsyncClient) -> None:
    body = {"title": "T", "content": "c", "collection": "nope"}
    for answer in (
        await api.post("/v1/documents", json=body),
        await api.post("/v1/search", json={"query": "c", "collection": "nope"}),
        await api.get("/v1/documents", params={"collection": "nope"}),
    ):
        assert (answer.status_code, answer.json()["code"]) == (404, "collection_not_found")
    assert len((await api.get("/v1/collections")).json()) == 1


@pytest.mark.parametrize("name", ["A", "-a", "a b", "x" * 64, "a%2Fb"])
async def test_bad_names_are_refused(api: httpx.AsyncClient, name: str) -> None:
    assert (await api.put(f"/v1/collections/{name}", json={})).status_code in (404, 422)


@pytest.mark.parametrize(
    "settings",
    [
        {"chunking": {"size": 10, "overlap": 10}},
        {"chunking": {"size": 10, "overlap": 11}},
        {"chunking": {"size": 10, "overlap": -1}},
        {"chunking": {"size": 0, "overlap": 0}},
        {"language": "klingon"},
        {"fusion": {"method": "weighted", "weights": {}}},
        {"embedding_model": "another/model"},
    ],
)
async def test_settings_that_cannot_work_are_refused(
    api: httpx.AsyncClient, settings: dict[str, object]
) -> None:
    """B023: also overlap at or above size, and size zero."""
    answer = await api.put("/v1/collections/c", json=settings)
    assert answer.status_code == 422
    assert (await api.get("/health/live")).status_code == 200


async def test_the_language_of_a_filled_collection_stays(
    api: httpx.AsyncClient, create: Create
) -> None:
    await api.put("/v1/collections/c", json={"language": "english"})
    await create("T", "words", collection="c")
    answer = await api.put("/v1/collections/c", json={"language": "german"})
    assert (answer.status_code, answer.json()["code"]) == (409, "language_in_use")


async def test_collections_do_not_see_each_other(api: httpx.AsyncClient, create: Create) -> None:
    await api.put("/v1/collections/a", json={})
    await api.put("/v1/collections/b", json={})
    one = await create("T", "herrings swim", collection="a", external_id="e")
    two = await create("T", "herrings sing", collection="b", external_id="e")
    assert one["id"] != two["id"]
    for path in ("/v1/search", "/v1/search/semantic", "/v1/search/keyword"):
        rows = (await api.post(path, json={"query": "herrings", "collection": "a"})).json()
        assert {row["document_id"] for row in rows["results"]} == {one["id"]}
        both = await api.post(path, json={"query": "herrings", "collections": ["a", "b"]})
        assert {row["document_id"] for row in both.json()["results"]} == {one["id"], two["id"]}
        assert (await api.post(path, json={"query": "herrings"})).json()["results"] == []
    listed = await api.get("/v1/documents", params={"collection": "b"})
    assert [row["id"] for row in listed.json()] == [two["id"]]
    assert listed.headers["x-total-count"] == "1"


async def test_a_removed_collection_takes_its_documents(
    api: httpx.AsyncClient, create: Create
) -> None:
    await api.put("/v1/collections/a", json={})
    made = await create("T", "herrings", collection="a")
    await api.delete("/v1/collections/a")
    assert (await api.get(f"/v1/documents/{made['id']}")).status_code == 404


async def test_a_collections_own_chunking_holds(api: httpx.AsyncClient, create: Create) -> None:
    await api.put("/v1/collections/small", json={"chunking": {"size": 20, "overlap": 5}})
    made = await create("T", "One two three four five. " * 30, collection="small")
    detail = (await api.get(f"/v1/documents/{made['id']}")).json()
    assert max(chunk["token_count"] for chunk in detail["chunks"]) <= 20


@pytest.mark.parametrize("name", ["a\x00b", "\udcff", "Default", "", "x" * 64])
async def test_what_can_be_no_name_is_a_collection_that_is_not_there(
    api: httpx.AsyncClient, name: str
) -> None:
    """R47: NUL in a name is no 500, wherever a collection is named."""
    readings = ("documents", "entities", "concepts", "graph/communities", "graph/stats", "jobs")
    for path in readings:
        if "\udcff" in name:
            break  # no URL can carry it
        answer = await api.get(f"/v1/{path}", params={"collection": name})
        assert answer.status_code in (404, 422), (path, answer.text)
    body = json.dumps({"query": "q", "collection": name})
    for path in ("search", "search/keyword", "search/graph"):
        answer = await api.post(
            f"/v1/{path}", content=body, headers={"content-type": "application/json"}
        )
        assert answer.status_code in (404, 422), (path, answer.text)


async def test_nul_in_a_filter_of_a_list_is_told(api: httpx.AsyncClient) -> None:
    """R47."""
    for path, asked in (
        ("entities", "type"), ("entities", "query"), ("concepts", "type"), ("concepts", "text"),
        ("relations", "concept_name"),
    ):  # fmt: skip
        answer = await api.get(f"/v1/{path}", params={asked: "a\x00b"})
        assert answer.status_code in (200, 422), (path, asked, answer.text)
