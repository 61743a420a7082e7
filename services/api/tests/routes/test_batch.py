"""Batches as JSON: one result an item, and one bad item harms no other."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragbase.storage.pool import Connection

from .conftest import OpenApp

GOOD: dict[str, Any] = {"title": "Harbour", "content": "Ships moor at the quay."}
BAD: dict[str, Any] = {
    "a number": 7,
    "null": None,
    "an array": [GOOD],
    "a text": "Ships moor.",
    "nothing": {},
    "no content": {"title": "T"},
    "a wrong type": {**GOOD, "title": ["T"]},
    "blank": {**GOOD, "content": " \n"},
    "NUL": {**GOOD, "content": "a\x00b"},
    "a surrogate": {**GOOD, "content": "long text " * 500 + "\ud800" + " goes on" * 500},
    "NUL in metadata": {**GOOD, "metadata": {"a": [{"b": "\x00"}]}},
    "a surrogate in a key": {**GOOD, "metadata": {"\udfff": 1}},
    "NaN": {**GOOD, "metadata": {"a": float("nan")}},
    "no such collection": {**GOOD, "collection": "nowhere"},
    "no name of a collection": {**GOOD, "collection": "No Where"},
    "metadata too large": {**GOOD, "metadata": {"a": "x" * 70_000}},
}
JSON = {"content-type": "application/json"}


async def post(api: httpx.AsyncClient, items: Any, **arguments: Any) -> httpx.Response:
    """Python's JSON writes NaN and lone surrogates, which a caller may send."""
    headers = {**JSON, **arguments.pop("headers", {})}
    return await api.post(
        "/v1/documents/batch", content=json.dumps(items), headers=headers, **arguments
    )


async def results(api: httpx.AsyncClient, items: Any, **arguments: Any) -> list[dict[str, Any]]:
    answer = await post(api, items, **arguments)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["results"]
    assert [result["index"] for result in found] == list(range(len(found)))
    return found


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD.keys())
async def test_a_bad_item_is_told_as_if_alone_and_harms_no_other(
    api: httpx.AsyncClient, connection: Connection, bad: Any
) -> None:
    """B001, B005."""
    alone = await api.post("/v1/documents", content=json.dumps(bad), headers=JSON)
    before, refused, after = await results(api, [GOOD, bad, GOOD])
    assert (before["status"], after["status"]) == (201, 201)
    assert refused["status"] == alone.status_code
    assert refused["error"]["code"] == alone.json()["code"]
    assert refused["document"] is None
    assert refused["job"] is None
    assert await connection.fetchval("SELECT count(*) FROM documents") == 2
    assert await connection.fetchval("SELECT count(*) FROM chunks") == 2
    assert await connection.fetchval("SELECT count(*) FROM embeddings") == 2


async def test_the_field_to_change_is_named(api: httpx.AsyncClient) -> None:
    text, nested, absent = await results(
        api, [BAD["NUL"], BAD["NUL in metadata"], BAD["no content"]]
    )
    assert text["error"]["field"] == "content"
    assert nested["error"]["field"] == "metadata.a.0.b"
    assert absent["error"]["field"] == "content"
    assert "content" in absent["error"]["message"]


async def test_a_thousand_items_with_ten_bad_ones(
    api: httpx.AsyncClient, connection: Connection
) -> None:
    bad = {n * 97: item for n, item in enumerate(list(BAD.values())[:10])}
    items = [bad.get(n, {"title": f"T{n}", "content": f"text {n}"}) for n in range(1000)]
    found = await results(api, {"documents": items})
    assert {row["index"] for row in found if row["status"] != 201} == bad.keys()
    titles = [row["document"]["title"] for row in found if row["document"]]
    assert titles == [f"T{n}" for n in range(1000) if n not in bad]
    assert await connection.fetchval("SELECT count(*) FROM documents") == 990


async def test_the_answer_has_texts_only_where_wanted(api: httpx.AsyncClient) -> None:
    (bare,) = await results(api, [GOOD])
    (whole,) = await results(api, [GOOD], params={"include_content": True})
    assert (bare["document"]["content"], bare["document"]["chunk_count"]) == ("", 1)
    assert whole["document"]["content"] == GOOD["content"]


async def test_of_items_with_one_external_id_the_last_one_wins(api: httpx.AsyncClient) -> None:
    items = [{"title": "T", "content": f"version {n}", "external_id": "e"} for n in range(12)]
    for _ in range(3):
        found = await results(api, items)
        assert {row["status"] for row in found[1:]} == {200}
        assert {row["document"]["id"] for row in found} == {found[0]["document"]["id"]}
        detail = (await api.get(f"/v1/documents/{found[0]['document']['id']}")).json()
        assert detail["content"] == "version 11"


async def test_equal_items_with_dedupe_are_one_document(api: httpx.AsyncClient) -> None:
    first, *others = await results(api, [{**GOOD, "dedupe": True}] * 8)
    assert (first["status"], first["document"]["outcome"]) == (201, "created")
    for other in others:
        assert (other["status"], other["document"]["outcome"]) == (200, "unchanged")
        assert other["document"]["id"] == first["document"]["id"]


async def test_an_item_with_dedupe_finds_the_one_before_it(api: httpx.AsyncClient) -> None:
    plain, same, other = await results(api, [GOOD, {**GOOD, "dedupe": True}, GOOD])
    assert same["document"]["id"] == plain["document"]["id"]
    assert other["document"]["id"] != plain["document"]["id"]


@pytest.mark.parametrize(
    "body", ["", "{", "7", '"x"', '{"documents": {}}', '{"docs": []}', "[" * 100_000, b"\xff"]
)
async def test_what_is_no_batch_is_422(api: httpx.AsyncClient, body: str | bytes) -> None:
    answer = await api.post("/v1/documents/batch", content=body, headers=JSON)
    assert answer.status_code == 422
    assert answer.json()["code"] in ("invalid_json", "not_a_batch")


async def test_the_type_must_be_said(api: httpx.AsyncClient) -> None:
    answer = await api.post("/v1/documents/batch", content=b"[]", headers={"content-type": ""})
    assert (answer.status_code, answer.json()["code"]) == (422, "unknown_content_type")
    assert "application/x-ndjson" in str(answer.json()["detail"])


async def test_too_many_items_are_refused_and_nothing_is_stored(
    open_app: OpenApp, connection: Connection
) -> None:
    _, api = await open_app(max_batch=3)
    assert await results(api, []) == []
    assert len(await results(api, [GOOD] * 3)) == 3
    answer = await post(api, [GOOD] * 4)
    assert (answer.status_code, answer.json()["code"]) == (422, "batch_too_large")
    assert "RAGBASE_MAX_BATCH" in str(answer.json()["detail"])
    assert await connection.fetchval("SELECT count(*) FROM documents") == 3


async def test_items_become_jobs_on_request(api: httpx.AsyncClient) -> None:
    items = [GOOD, BAD["NUL"], {**GOOD, "title": "Second"}]
    first, refused, second = await results(api, items, headers={"prefer": "respond-async"})
    assert (first["status"], refused["status"], second["status"]) == (202, 422, 202)
    assert refused["error"]["code"] == "invalid_text"
    for row, title in ((first, "Harbour"), (second, "Second")):
        url = f"/v1/jobs/{row['job']['id']}"
        job = (await api.get(url, headers={"prefer": "wait=30"})).json()
        assert (job["kind"], job["state"]) == ("ingest", "succeeded")
        document = (await api.get(f"/v1/documents/{job['document_id']}")).json()
        assert document["title"] == title


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    names=st.lists(st.sampled_from(["good", "good", "good", *BAD]), max_size=10),
    lines=st.booleans(),
)
async def test_good_and_bad_items_in_any_order(
    api: httpx.AsyncClient, connection: Connection, names: list[str], lines: bool
) -> None:
    """What is stored is exactly the good ones, in any order, as JSON and as lines."""
    items = [BAD.get(name, GOOD) for name in names]
    before = await connection.fetchval("SELECT count(*) FROM documents")
    if lines:
        content = "".join(json.dumps(item) + "\n" for item in items)
        headers = {"content-type": "application/x-ndjson"}
        answer = await api.post("/v1/documents/batch", content=content, headers=headers)
        found = [json.loads(line) for line in answer.text.splitlines()]
    else:
        found = await results(api, items)
    assert [row["status"] == 201 for row in found] == [name == "good" for name in names]
    after = await connection.fetchval("SELECT count(*) FROM documents")
    assert after - before == names.count("good")
