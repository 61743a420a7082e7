"""Deletion of many documents: by ids, by filter, at once or by a job."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from ragbase.services import deletion
from ragbase.storage.pool import Connection

from .conftest import Create, OpenApp

TRACES = ("documents", "chunks", "embeddings", "postings")


async def delete(api: httpx.AsyncClient, **body: Any) -> httpx.Response:
    return await api.post("/v1/documents/delete", json=body)


async def fill(create: Create, count: int, **fields: Any) -> list[int]:
    return [
        (await create(f"T{n}", f"text {n}", metadata={"n": n}, **fields))["id"]
        for n in range(count)
    ]


async def left(connection: Connection) -> list[int]:
    rows = await connection.fetch("SELECT (metadata ->> 'n')::int FROM documents ORDER BY 1")
    return [row[0] for row in rows]


async def test_ids_are_removed_and_absent_ones_named(
    api: httpx.AsyncClient, create: Create, connection: Connection
) -> None:
    ids = await fill(create, 4)
    wanted = [ids[2], 10**9, ids[0], -5, 2**70, ids[2], 10**9]
    answer = await delete(api, ids=wanted)
    assert answer.status_code == 200
    assert answer.json() == {"deleted": 2, "missing": [10**9, -5, 2**70], "dry_run": False}
    assert await left(connection) == [1, 3]
    again = (await delete(api, ids=wanted)).json()
    assert (again["deleted"], len(again["missing"])) == (0, 5)


async def test_a_filter_removes_what_it_matches_with_every_trace(
    api: httpx.AsyncClient, create: Create, connection: Connection
) -> None:
    await fill(create, 6)
    await create("Empty", "<!-- no chunk -->", metadata={"n": 4})
    answer = await delete(api, filter={"n": {"gte": 2}})
    assert answer.json() == {"deleted": 5, "missing": [], "dry_run": False}
    assert await left(connection) == [0, 1]
    for condition in ({"n": 7}, {"n": {"in": []}}, {"n": {"gte": 2}}):
        assert (await delete(api, filter=condition)).json()["deleted"] == 0
    assert (await delete(api, filter={"@id": {"exists": True}})).json()["deleted"] == 2
    for table in TRACES:
        assert await connection.fetchval(f"SELECT count(*) FROM {table}") == 0


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"ids": []},
        {"ids": None},
        {"filter": {}},
        {"filter": {"and": []}},
        {"filter": {"and": [{}, {}]}},
        {"filter": {"or": [{"n": 1}, {}]}},
        {"filter": {"not": {"or": []}}},
        {"filter": {"n": {"nin": []}}},
        {"filter": {"not": {"and": [{"n": 1}, {"n": {"in": []}}]}}},
        {"ids": [1], "filter": {"n": 1}},
        {"collection": "default"},
        {"filter": {"n": {"like": 1}}},
        {"filter": []},
        {"filter": {"n": "\x00"}},
        {"ids": 1},
        {"ids": ["1"]},
        {"ids": [True]},
        {"ids": [1.0]},
        {"ids": [None]},
        {"id": [1]},
        {"filters": {"n": 1}, "ids": [1]},
        {"ids": list(range(1, 1002))},
    ],
)  # fmt: skip
async def test_what_names_nothing_or_everything_by_mistake_removes_nothing(
    api: httpx.AsyncClient, create: Create, connection: Connection, body: dict[str, Any]
) -> None:
    """B045."""
    await fill(create, 2)
    for prefer in ({}, {"prefer": "respond-async"}):
        answer = await api.post("/v1/documents/delete", json=body, headers=prefer)
        assert answer.status_code == 422
        assert answer.json()["code"]
    assert await left(connection) == [0, 1]


async def test_a_dry_run_counts_and_removes_nothing(
    api: httpx.AsyncClient, create: Create, connection: Connection
) -> None:
    ids = await fill(create, 3)
    counted = await delete(api, filter={"n": {"lt": 2}}, dry_run=True)
    assert counted.json() == {"deleted": 2, "missing": [], "dry_run": True}
    listed = await delete(api, ids=[ids[0], 10**9, ids[0]], dry_run=True)
    assert listed.json() == {"deleted": 1, "missing": [10**9], "dry_run": True}
    assert await left(connection) == [0, 1, 2]


async def test_a_filter_means_one_collection_and_ids_any(
    api: httpx.AsyncClient, create: Create, connection: Connection
) -> None:
    await api.put("/v1/collections/other", json={})
    await fill(create, 2)
    (third,) = await fill(create, 1, collection="other")
    assert (await delete(api, filter={"n": 0})).json()["deleted"] == 1
    assert await left(connection) == [0, 1]
    assert (await delete(api, ids=[third], collection="default")).json()["missing"] == [third]
    assert (await delete(api, filter={"n": 0}, collection="other")).json()["deleted"] == 1
    assert await left(connection) == [1]
    absent = await delete(api, filter={"n": 0}, collection="nowhere")
    assert (absent.status_code, absent.json()["code"]) == (404, "collection_not_found")
    (fourth,) = await fill(create, 1, collection="other")
    assert (await delete(api, ids=[fourth])).json()["deleted"] == 1


async def test_many_are_removed_in_transactions_of_bounded_size(
    api: httpx.AsyncClient,
    create: Create,
    connection: Connection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However the bounds fall, all that match go, and no others."""
    monkeypatch.setattr(deletion, "DOCUMENTS_AT_ONCE", 3)
    monkeypatch.setattr(deletion, "CHUNKS_AT_ONCE", 4)
    monkeypatch.setattr(deletion, "IDS_AT_ONCE", 5)
    long = "\n\n".join(f"Paragraph {n}: " + "the quick brown fox " * 20 for n in range(40))
    big = await create("Big", long, metadata={"n": 90})
    assert big["chunk_count"] > 4
    ids = await fill(create, 14)
    await create("Big", long, metadata={"n": 91})
    answer = await delete(api, filter={"n": {"nin": [3, 7]}})
    assert answer.json()["deleted"] == 14
    assert await left(connection) == [3, 7]
    assert (await delete(api, ids=ids)).json()["deleted"] == 2


async def test_a_job_removes_what_matches_a_filter(
    api: httpx.AsyncClient, create: Create, connection: Connection
) -> None:
    await fill(create, 3)
    body = {"filter": {"n": {"gte": 1}}}
    accepted = await api.post(
        "/v1/documents/delete", json=body, headers={"prefer": "respond-async"}
    )
    assert accepted.status_code == 202
    job = accepted.json()
    assert (job["kind"], job["collection"]) == ("delete", "default")
    ended = await api.get(f"/v1/jobs/{job['id']}", headers={"prefer": "wait=30"})
    assert ended.json()["state"] == "succeeded"
    assert ended.json()["result"]["deleted"] == 2
    assert await left(connection) == [0]


async def test_a_job_spares_what_was_accepted_after_it(
    open_app: OpenApp, connection: Connection
) -> None:
    """Also a document that was there, and was replaced since."""
    _, api = await open_app(workers=0)
    first = {"title": "T", "content": "old", "metadata": {"n": 1}, "external_id": "a"}
    replaced = (await api.post("/v1/documents", json=first)).json()["id"]
    await api.post("/v1/documents", json={**first, "external_id": "b"})
    accepted = await api.post(
        "/v1/documents/delete", json={"filter": {"n": 1}}, headers={"prefer": "respond-async"}
    )
    job = accepted.json()["id"]
    await api.post("/v1/documents", json={**first, "content": "new"})
    late = (await api.post("/v1/documents", json={**first, "external_id": "c"})).json()["id"]
    await open_app(workers=1)
    ended = (await api.get(f"/v1/jobs/{job}", headers={"prefer": "wait=30"})).json()
    assert (ended["state"], ended["result"]["deleted"]) == ("succeeded", 1)
    assert await connection.fetch("SELECT id FROM documents ORDER BY id") == [(replaced,), (late,)]


async def test_who_waits_for_the_job_gets_its_result(
    api: httpx.AsyncClient, create: Create
) -> None:
    await fill(create, 3)
    answer = await api.post(
        "/v1/documents/delete",
        json={"filter": {"n": 1}},
        headers={"prefer": "respond-async, wait=30"},
    )
    assert (answer.status_code, answer.json()["deleted"]) == (200, 1)


async def test_ids_are_removed_at_once_whatever_is_preferred(
    api: httpx.AsyncClient, create: Create
) -> None:
    ids = await fill(create, 2)
    answer = await api.post(
        "/v1/documents/delete", json={"ids": ids}, headers={"prefer": "respond-async"}
    )
    assert (answer.status_code, answer.json()["deleted"]) == (200, 2)


async def test_the_number_of_ids_is_bounded(open_app: OpenApp) -> None:
    _, api = await open_app(max_batch=2)
    answer = await delete(api, ids=[1, 2, 3])
    assert (answer.status_code, answer.json()["code"]) == (422, "batch_too_large")
    assert "RAGBASE_MAX_BATCH" in str(answer.json()["detail"])
