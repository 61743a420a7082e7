"""Batches over the clients: requests of bounded size, results as they come, gaps noticed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from ragbase.sdk import ApiError, AsyncClient, BatchDocument, Client, ConnectionFailedError
from ragbase.sdk import batch as sdk_batch

Handler = Callable[[httpx.Request], httpx.Response]


def documents(count: int, text: str = "c") -> Iterator[BatchDocument]:
    return ({"title": str(n), "content": text} for n in range(count))


def answering(request: httpx.Request) -> httpx.Response:
    """Refuses every item, each by its own title."""
    items = [json.loads(line) for line in request.content.splitlines()]
    rows = [
        {"index": n, "status": 422, "error": {"code": "no", "message": item["title"]}}
        for n, item in enumerate(items)
    ]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return httpx.Response(200, text=text)


def client(handler: Handler, **options: Any) -> Client:
    return Client(transport=httpx.MockTransport(handler), **options)


def test_results_are_numbered_over_all_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sdk_batch, "LINES_MAX", 4)
    sizes: list[int] = []

    def handler(request: httpx.Request) -> httpx.Response:
        sizes.append(len(request.content.splitlines()))
        assert request.headers["content-type"] == "application/x-ndjson"
        return answering(request)

    found = list(client(handler).documents.batch(documents(10)))
    assert sizes == [4, 4, 2]
    assert [result.index for result in found] == list(range(10))
    assert [result.error and result.error.message for result in found] == [
        str(n) for n in range(10)
    ]


def test_requests_are_bounded_in_bytes_and_a_large_document_goes_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sdk_batch, "BYTES_MAX", 300)
    sizes: list[int] = []

    def handler(request: httpx.Request) -> httpx.Response:
        sizes.append(len(request.content.splitlines()))
        return answering(request)

    many = [*documents(4, "x" * 100), *documents(1, "x" * 1000), *documents(2)]
    assert len(list(client(handler).documents.batch(many))) == 7
    assert sizes == [2, 2, 1, 2]


def test_documents_are_taken_when_their_turn_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sdk_batch, "LINES_MAX", 3)
    taken = 0

    def endless() -> Iterator[BatchDocument]:
        nonlocal taken
        while True:
            taken += 1
            yield {"title": str(taken), "content": "c"}

    results = client(answering).documents.batch(endless())
    assert [next(results).index for _ in range(3)] == [0, 1, 2]
    assert taken == 4
    results.close()  # type: ignore[attr-defined]  # a generator


def test_line_separators_in_texts_do_not_end_a_result() -> None:
    odd = "a\u2028b\u0085c\x0bd"
    (result,) = client(answering).documents.batch([{"title": odd, "content": "c"}])
    assert result.error is not None
    assert result.error.message == odd


def test_a_busy_server_is_waited_out_and_other_refusals_raise() -> None:
    waiting = [
        httpx.Response(429, json={"detail": "busy", "code": "overloaded"}, headers={"Retry-After": "0"}),
        None,
        httpx.Response(403, json={"detail": "no", "code": "scope_missing"}),
    ]  # fmt: skip

    def handler(request: httpx.Request) -> httpx.Response:
        return waiting.pop(0) or answering(request)

    with client(handler) as opened:
        assert len(list(opened.documents.batch(documents(2)))) == 2
        with pytest.raises(ApiError) as refused:
            list(opened.documents.batch(documents(2)))
    assert refused.value.status == 403


def test_missing_results_are_an_error_after_those_that_came() -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        lines = answering(request).text.splitlines(keepends=True)
        return httpx.Response(200, text=lines[0] + lines[1][:10])

    results = client(handler).documents.batch(documents(3))
    assert next(results).index == 0
    with pytest.raises(ConnectionFailedError, match="1 of 3"):
        next(results)


def test_an_answer_of_another_kind_is_told() -> None:
    def handler(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, text="<html>\n")

    with pytest.raises(ApiError) as wrong:
        list(client(handler).documents.batch(documents(1)))
    assert wrong.value.code == "unexpected_answer"


def test_a_connection_that_breaks_is_one_error_whatever_broke() -> None:
    def handler(_: httpx.Request) -> httpx.Response:
        raise httpx.ReadError("reset")

    with pytest.raises(ConnectionFailedError, match="ReadError"):
        list(client(handler).documents.batch(documents(1)))


def test_a_batch_deletion_and_statistics_on_the_real_api(api_url: str) -> None:
    with Client(api_url) as opened:
        opened.collections.create("sdk-batch")
        items: list[BatchDocument] = [
            {"title": f"T{n}", "content": f"text {n}", "collection": "sdk-batch", "metadata": {"n": n}}
            for n in range(30)
        ]  # fmt: skip
        items[7]["content"] = " "
        found = list(opened.documents.batch(items))
        assert [result.status for result in found] == [201] * 7 + [422] + [201] * 22
        ids = [result.document.id for result in found if result.document]
        counted = opened.documents.delete_matching(
            {"n": {"gte": 10}}, collection="sdk-batch", dry_run=True
        )
        assert (counted.deleted, counted.dry_run) == (20, True)
        removed = opened.documents.delete_matching({"n": {"gte": 10}}, collection="sdk-batch")
        assert removed.deleted == 20
        some = opened.documents.delete_many([*ids[:2], ids[-1]])
        assert (some.deleted, some.missing) == (2, [ids[-1]])
        left = opened.documents.list(collection="sdk-batch")
        assert len(left) == 7
        assert opened.stats().documents >= 0
        opened.collections.delete("sdk-batch")


async def test_the_asynchronous_client_does_the_same(api_url: str) -> None:
    async with AsyncClient(api_url) as opened:
        await opened.collections.create("sdk-async")
        items: list[BatchDocument] = [
            {"title": f"T{n}", "content": f"text {n}", "collection": "sdk-async"} for n in range(5)
        ]
        found = [result async for result in opened.documents.batch(items, include_content=True)]
        assert [r.document and r.document.content for r in found] == [f"text {n}" for n in range(5)]
        jobs = [result async for result in opened.documents.batch(items, respond_async=True)]
        assert [(r.status, r.job and r.job.kind) for r in jobs] == [(202, "ingest")] * 5
        ids = [result.document.id for result in found if result.document]
        assert (await opened.documents.delete_many(ids)).deleted == 5
        condition = {"@id": {"exists": True}}
        await opened.documents.delete_matching(condition, collection="sdk-async")
        assert (await opened.stats()).storage_bytes
        await opened.collections.delete("sdk-async")
