"""Work that is accepted now and done later, as callers meet it."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from ragbase.clients.embedder import Embedder
from ragbase.errors import EmbedderUnavailableError
from ragbase.services.keys_format import new_key

from .conftest import OpenApp

LATER = {"prefer": "respond-async"}
DOCUMENT = {"title": "Harbour rules", "content": "Ships moor at the north quay."}


class Faulty:
    """The real embedder, but for what the test does to it."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.down = False
        self.may_go = asyncio.Event()
        self.may_go.set()
        self.asked = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def embed_passages(self, texts: list[str]) -> Any:
        self.asked.set()
        await self.may_go.wait()
        if self.down:
            raise EmbedderUnavailableError("The embedding server cannot be reached.")
        return await self._inner.embed_passages(texts)


@pytest.fixture
def faulty(embedder: Embedder) -> Faulty:
    return Faulty(embedder)


async def ended(client: httpx.AsyncClient, job: dict[str, Any]) -> dict[str, Any]:
    answer = await client.get(f"/v1/jobs/{job['id']}", headers={"prefer": "wait=30"})
    found: dict[str, Any] = answer.json()
    assert found["state"] in ("succeeded", "failed", "cancelled"), found
    return found


async def later(client: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:
    answer = await client.post("/v1/documents", json={**DOCUMENT, **fields}, headers=LATER)
    assert answer.status_code == 202, answer.text
    job: dict[str, Any] = answer.json()
    return job


async def test_a_document_is_accepted_and_stored_by_a_job(api: httpx.AsyncClient) -> None:
    answer = await api.post(
        "/v1/documents", json={**DOCUMENT, "contextual_retrieval": True}, headers=LATER
    )
    job = answer.json()
    assert answer.status_code == 202
    assert answer.headers["location"] == f"/v1/jobs/{job['id']}"
    assert answer.headers["preference-applied"] == "respond-async"
    assert (job["kind"], job["collection"], job["error"]) == ("ingest", "default", None)
    job = await ended(api, job)
    assert job["state"] == "succeeded"
    assert job["result"]["outcome"] == "created"
    assert job["result"]["warnings"][0]["code"] == "context_unavailable"
    stored = (await api.get(f"/v1/documents/{job['document_id']}")).json()
    assert (stored["title"], stored["chunk_count"]) == (DOCUMENT["title"], 1)
    found = await api.post("/v1/search", json={"query": "where do ships moor"})
    assert found.json()["results"][0]["document_id"] == job["document_id"]


async def test_a_caller_who_waits_gets_the_document(api: httpx.AsyncClient) -> None:
    headers = [("prefer", "respond-async"), ("Prefer", 'foo; bar, WAIT="30"')]
    body = {**DOCUMENT, "external_id": "x"}
    for status, outcome in ((201, "created"), (200, "unchanged")):
        answer = await api.post("/v1/documents", json=body, headers=headers)
        assert (answer.status_code, answer.json()["outcome"]) == (status, outcome)
        assert answer.headers["preference-applied"] == "wait=30"
        assert answer.json()["title"] == DOCUMENT["title"]


async def test_a_caller_whose_patience_ends_gets_the_job(open_app: OpenApp) -> None:
    _, client = await open_app(workers=0)
    answer = await client.post(
        "/v1/documents", json=DOCUMENT, headers={"prefer": "respond-async, wait=1"}
    )
    assert (answer.status_code, answer.json()["state"]) == (202, "queued")
    assert answer.headers["preference-applied"] == "respond-async"


@pytest.mark.parametrize(
    ("fields", "status", "code"),
    [
        ({"content": "  "}, 422, "blank"),
        ({"content": "a\x00b"}, 422, None),
        ({"content": "x" * 101}, 413, "text_too_long"),
        ({"metadata": {"a": "x" * 200}}, 413, "metadata_too_large"),
        ({"collection": "absent"}, 404, "collection_not_found"),
        ({"title": 7}, 422, "validation_error"),
    ],
)
async def test_what_is_wrong_is_told_before_it_is_accepted(
    open_app: OpenApp, fields: dict[str, Any], status: int, code: str | None
) -> None:
    _, client = await open_app(max_text_chars=100, max_metadata_bytes=100)
    answer = await client.post("/v1/documents", json={**DOCUMENT, **fields}, headers=LATER)
    assert answer.status_code == status, answer.text
    assert code in (None, answer.json()["code"])
    assert (await client.get("/v1/jobs")).json() == []


async def test_metadata_can_be_changed_by_a_job(api: httpx.AsyncClient) -> None:
    made = (await api.post("/v1/documents", json=DOCUMENT)).json()
    path = f"/v1/documents/{made['id']}"
    answer = await api.patch(path, json={"metadata": {"year": 2024}}, headers=LATER)
    assert (answer.status_code, answer.json()["document_id"]) == (202, made["id"])
    assert (await ended(api, answer.json()))["state"] == "succeeded"
    assert (await api.get(path)).json()["metadata"] == {"year": 2024}
    headers = {"prefer": "respond-async, wait=30"}
    answer = await api.patch(path, json={"metadata": {"year": 2025}}, headers=headers)
    assert (answer.status_code, answer.json()["metadata"]) == (200, {"year": 2025})
    absent = await api.patch("/v1/documents/987654", json={"metadata": {}}, headers=LATER)
    assert absent.json()["code"] == "document_not_found"


async def test_a_document_deleted_before_its_change_fails_the_job(open_app: OpenApp) -> None:
    _, client = await open_app(workers=0)
    made = (await client.post("/v1/documents", json=DOCUMENT)).json()
    path = f"/v1/documents/{made['id']}"
    job = (await client.patch(path, json={"metadata": {"a": 1}}, headers=LATER)).json()
    assert (await client.delete(path)).status_code == 204
    _, busy = await open_app(workers=1)
    job = await ended(busy, job)
    assert (job["state"], job["error"]["code"]) == ("failed", "document_not_found")


async def test_jobs_are_listed_newest_first(open_app: OpenApp) -> None:
    _, client = await open_app(workers=0)
    await client.put("/v1/collections/wiki", json={})
    made = [await later(client, collection=name) for name in ("default", "wiki", "default")]
    listed = await client.get("/v1/jobs", params={"limit": 2})
    assert [job["id"] for job in listed.json()] == [made[2]["id"], made[1]["id"]]
    assert listed.headers["x-total-count"] == "3"
    for params, expected in (
        ({"collection": "wiki"}, [made[1]]),
        ({"state": "running"}, []),
        ({"kind": "delete"}, []),
        ({"offset": 2, "state": "queued", "kind": "ingest"}, [made[0]]),
    ):
        listed = await client.get("/v1/jobs", params=params)
        assert listed.json() == expected
    for params, status in (
        ({"collection": "absent"}, 404),
        ({"state": "lost"}, 422),
        ({"limit": 101}, 422),
    ):
        assert (await client.get("/v1/jobs", params=params)).status_code == status


async def test_cancel_and_retry(open_app: OpenApp) -> None:
    _, client = await open_app(workers=0)
    job = await later(client)
    path = f"/v1/jobs/{job['id']}"
    assert (await client.post(f"{path}/retry")).json()["code"] == "job_not_ended"
    for _ in range(2):
        answer = await client.post(f"{path}/cancel")
        assert (answer.status_code, answer.json()["state"]) == (200, "cancelled")
    answer = await client.post(f"{path}/retry")
    assert (answer.status_code, answer.json()["state"]) == (202, "queued")
    assert answer.headers["location"] == path
    _, busy = await open_app(workers=1)
    assert (await ended(busy, job))["state"] == "succeeded"
    for action, code in (("cancel", "job_ended"), ("retry", "job_succeeded")):
        answer = await client.post(f"{path}/{action}")
        assert (answer.status_code, answer.json()["code"]) == (409, code)


@pytest.mark.parametrize("job_id", ["1", "0", "-5", "9223372036854775807"])
async def test_a_job_that_is_not_there(api: httpx.AsyncClient, job_id: str) -> None:
    answers = [
        await api.get(f"/v1/jobs/{job_id}"),
        await api.post(f"/v1/jobs/{job_id}/cancel"),
        await api.post(f"/v1/jobs/{job_id}/retry"),
    ]
    assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [
        (404, "job_not_found")
    ] * 3


async def test_a_full_queue_is_429_with_a_time_to_come_back(open_app: OpenApp) -> None:
    _, client = await open_app(workers=0, max_queued_per_collection=1)
    await later(client)
    answer = await client.post("/v1/documents", json=DOCUMENT, headers=LATER)
    assert (answer.status_code, answer.json()["code"]) == (429, "overloaded")
    assert int(answer.headers["retry-after"]) > 0
    assert "RAGBASE_MAX_QUEUED_PER_COLLECTION" in answer.json()["detail"]


async def test_jobs_of_other_collections_do_not_exist_for_a_bound_key(open_app: OpenApp) -> None:
    admin_key = new_key().text
    _, client = await open_app(auth="on", admin_key=admin_key, workers=0)
    client.headers["authorization"] = f"Bearer {admin_key}"
    for name in ("ours", "theirs"):
        await client.put(f"/v1/collections/{name}", json={})
    ours, theirs = [await later(client, collection=name) for name in ("ours", "theirs")]
    made = await client.post(
        "/v1/keys", json={"name": "k", "scopes": ["read", "write"], "collections": ["ours"]}
    )
    client.headers["authorization"] = f"Bearer {made.json()['key']}"
    listed = await client.get("/v1/jobs")
    assert ([job["id"] for job in listed.json()], listed.headers["x-total-count"]) == (
        [ours["id"]],
        "1",
    )
    for answer in (
        await client.get(f"/v1/jobs/{theirs['id']}"),
        await client.post(f"/v1/jobs/{theirs['id']}/cancel"),
        await client.post(f"/v1/jobs/{theirs['id']}/retry"),
        await client.get("/v1/jobs", params={"collection": "theirs"}),
        await client.post(
            "/v1/documents", json={**DOCUMENT, "collection": "theirs"}, headers=LATER
        ),
    ):
        assert answer.status_code == 404
    absent = await client.get("/v1/jobs", params={"collection": "absent"})
    hidden = await client.get("/v1/jobs", params={"collection": "theirs"})
    assert hidden.text == absent.text.replace("absent", "theirs")
    assert (await client.post(f"/v1/jobs/{ours['id']}/cancel")).status_code == 200


async def test_a_document_of_a_job_that_is_cancelled_is_not_stored(
    open_app: OpenApp, faulty: Faulty
) -> None:
    _, client = await open_app(embedder=faulty)
    faulty.may_go.clear()
    job = await later(client)
    await faulty.asked.wait()
    running = (await client.get(f"/v1/jobs/{job['id']}")).json()
    assert running["state"] == "running"
    answer = await client.post(f"/v1/jobs/{job['id']}/cancel")
    assert answer.status_code == 202
    faulty.may_go.set()
    assert (await ended(client, job))["state"] == "cancelled"
    assert (await client.get("/v1/documents")).json() == []
    await client.post(f"/v1/jobs/{job['id']}/retry")
    assert (await ended(client, job))["state"] == "succeeded"


async def test_equal_documents_posted_at_once_are_one(api: httpx.AsyncClient) -> None:
    """B053: the same document ten times in parallel, by id and by content, now and later."""
    for fields in ({"external_id": "same"}, {"dedupe": True}):
        body = {**DOCUMENT, **fields}
        answers = await asyncio.gather(
            *(
                api.post("/v1/documents", json=body, headers=LATER if n % 2 else {})
                for n in range(10)
            )
        )
        assert {answer.status_code for answer in answers} <= {200, 201, 202}
        jobs = [await ended(api, a.json()) for a in answers if a.status_code == 202]
        assert {job["state"] for job in jobs} == {"succeeded"}
        ids = {job["document_id"] for job in jobs}
        ids |= {answer.json()["id"] for answer in answers if answer.status_code != 202}
        assert len(ids) == 1
    assert int((await api.get("/v1/documents")).headers["x-total-count"]) <= 2


async def test_two_versions_at_once_leave_one_complete(open_app: OpenApp) -> None:
    """B055: two different long versions of one id at the same time, 20 rounds."""
    _, client = await open_app(workers=2, chunk_size=20, chunk_overlap=2)
    versions = {
        word: " ".join(f"{word}{n} and the quay." for n in range(40)) for word in ("old", "new")
    }
    for _ in range(20):
        jobs = [
            await later(client, content=content, external_id="x") for content in versions.values()
        ]
        for job in await asyncio.gather(*(ended(client, job) for job in jobs)):
            assert job["state"] == "succeeded"
        stored = (await client.get(f"/v1/documents/{job['document_id']}")).json()
        assert stored["content"] in versions.values()
        chunks = stored["chunks"]
        assert [chunk["chunk_index"] for chunk in chunks] == list(range(stored["chunk_count"]))
        for chunk in chunks:
            assert stored["content"][chunk["start"] : chunk["end"]] == chunk["content"]
    assert (await client.get("/v1/documents")).headers["x-total-count"] == "1"


async def test_a_replacement_that_breaks_leaves_the_old_version(
    open_app: OpenApp, faulty: Faulty
) -> None:
    """B057: the embedder goes away in the middle of an update; it heals when that returns."""
    _, client = await open_app(embedder=faulty, job_attempts=1)
    old = await client.post("/v1/documents", json={**DOCUMENT, "external_id": "x"})
    path = f"/v1/documents/{old.json()['id']}"
    before = (await client.get(path)).json()
    faulty.down = True
    job = await ended(client, await later(client, content="All is new.", external_id="x"))
    assert (job["state"], job["error"]["code"]) == ("failed", "embedder_unavailable")
    assert (await client.get(path)).json() == before
    faulty.down = False
    await client.post(f"/v1/jobs/{job['id']}/retry")
    assert (await ended(client, job))["state"] == "succeeded"
    after = (await client.get(path)).json()
    assert (after["content"], after["chunk_count"]) == ("All is new.", 1)
    assert (await client.get("/v1/documents")).headers["x-total-count"] == "1"


async def test_an_outage_of_the_embedder_is_waited_for(open_app: OpenApp, faulty: Faulty) -> None:
    _, client = await open_app(embedder=faulty)
    faulty.down = True
    faulty.asked.clear()
    job = await later(client)
    await faulty.asked.wait()
    faulty.down = False
    job = await ended(client, job)
    assert (job["state"], job["attempts"], job["error"]) == ("succeeded", 2, None)
