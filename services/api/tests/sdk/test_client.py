"""The clients against a stub transport: what is sent, and what errors become."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from ragbase.cli.options import DEFAULT_URL as CLI_URL
from ragbase.sdk import (
    DEFAULT_URL,
    ApiError,
    AsyncClient,
    Client,
    ConnectionFailedError,
    TimedOutError,
)

Handler = Callable[[httpx.Request], httpx.Response]

ANSWER = {
    "query": "tides",
    "results": [],
    "total": 0,
    "retrievers_used": [],
    "score_kind": "rrf",
    "reranker_used": None,
    "warnings": [],
    "degraded": False,
    "timings_ms": {"total": 1.5},
    "a_field_of_a_later_version": 1,
}


def client(handler: Handler, **options: Any) -> Client:
    return Client(transport=httpx.MockTransport(handler), **options)


def answering(*responses: httpx.Response) -> tuple[Handler, list[httpx.Request]]:
    """A handler that gives these answers in turn, and the requests it saw."""
    waiting, seen = list(responses), []

    def handler(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return waiting.pop(0)

    return handler, seen


def test_search_sends_what_was_given_and_nothing_else() -> None:
    handler, seen = answering(httpx.Response(200, json=ANSWER))
    answer = client(handler, api_key="rb_1_x").search(
        "tides", mode="keyword", top_k=5, filter={"year": 1}
    )
    assert answer.timings_ms.total == 1.5
    assert seen[0].url.path == "/v1/search/keyword"
    assert json.loads(seen[0].content) == {"query": "tides", "top_k": 5, "filter": {"year": 1}}
    assert seen[0].headers["Authorization"] == "Bearer rb_1_x"


RANKED = {
    "results": [{"index": 1, "score": 0.9, "text": None}, {"index": 0, "score": 0.1, "text": None}],
    "model": "m",
    "reranker_used": "default",
    "warnings": [],
}


async def test_rerank_sends_what_was_given_and_nothing_else() -> None:
    handler, seen = answering(*(httpx.Response(200, json=RANKED) for _ in range(2)))
    found = client(handler).rerank("tides", ["rice", "high water"])
    assert [(row.index, row.score) for row in found.results] == [(1, 0.9), (0, 0.1)]
    async with AsyncClient(transport=httpx.MockTransport(handler)) as other:
        await other.rerank("tides", ["a"], return_text=True, rerank_model="qwen-4b")
    assert [json.loads(request.content) for request in seen] == [
        {"query": "tides", "texts": ["rice", "high water"]},
        {"query": "tides", "texts": ["a"], "return_text": True, "rerank_model": "qwen-4b"},
    ]


def test_without_a_key_no_authorization_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAGBASE_API_KEY", raising=False)
    handler, seen = answering(*[httpx.Response(200, json=ANSWER)] * 2)
    client(handler).search("tides")
    monkeypatch.setenv("RAGBASE_API_KEY", "rb_env_x")
    client(handler, api_key="").search("tides")
    assert all("Authorization" not in request.headers for request in seen)


def test_the_environments_key_is_sent_where_none_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGBASE_API_KEY", "rb_env_x")
    handler, seen = answering(*[httpx.Response(200, json=ANSWER)] * 2)
    client(handler).search("tides")
    client(handler, api_key="rb_given_x").search("tides")
    assert [request.headers["Authorization"] for request in seen] == [
        "Bearer rb_env_x",
        "Bearer rb_given_x",
    ]


@pytest.mark.parametrize("key", ["a\nb", "rb_ü_x"])
def test_what_no_header_can_hold_is_no_key(key: str) -> None:
    with pytest.raises(ConnectionFailedError, match="API key"):
        client(answering()[0], api_key=key)


def test_names_of_collections_are_quoted_in_paths() -> None:
    handler, seen = answering(httpx.Response(204))
    client(handler).collections.delete("a/../b?c")
    assert seen[0].url.raw_path == b"/v1/collections/a%2F..%2Fb%3Fc"


def test_a_text_error_keeps_code_message_and_request_id() -> None:
    handler, _ = answering(
        httpx.Response(
            404,
            json={"detail": "Document not found", "code": "document_not_found"},
            headers={"X-Request-ID": "r1"},
        )
    )
    with pytest.raises(ApiError) as caught:
        client(handler).documents.get(7)
    error = caught.value
    assert (error.status, error.code, error.message) == (
        404,
        "document_not_found",
        "Document not found",
    )
    assert error.request_id == "r1"
    assert str(error) == "Document not found (404 document_not_found)"


def test_a_validation_error_names_the_fields() -> None:
    detail = [
        {"loc": ["body", "query"], "msg": "too short"},
        {"loc": ["body", "filter", "year"], "msg": "unknown operator"},
    ]
    handler, _ = answering(httpx.Response(422, json={"detail": detail, "code": "invalid_input"}))
    with pytest.raises(ApiError, match=r"^query: too short; filter\.year: unknown operator") as got:
        client(handler).search("x")
    assert got.value.detail == detail


@pytest.mark.parametrize("body", [b"", b"<html>proxy error</html>", b"[1]", b"\xff"])
def test_an_error_that_is_not_ours_still_has_a_message(body: bytes) -> None:
    handler, _ = answering(httpx.Response(502, content=body))
    with pytest.raises(ApiError) as caught:
        client(handler).health()
    assert caught.value.code == "http_502"
    assert caught.value.message == "502 Bad Gateway"


def test_not_ready_gives_the_reason() -> None:
    body = {"status": "not_ready", "reason": "The database is not available."}
    handler, _ = answering(httpx.Response(503, json=body))
    with pytest.raises(ApiError, match="The database is not available"):
        client(handler).ready()


def test_an_answer_of_another_service_is_an_error() -> None:
    handler, _ = answering(httpx.Response(200, text="<html>hello</html>"))
    with pytest.raises(ApiError, match="is this the right URL") as caught:
        client(handler).health()
    assert caught.value.code == "unexpected_answer"


def test_a_redirect_is_an_error() -> None:
    handler, _ = answering(httpx.Response(307, headers={"Location": "https://elsewhere/"}))
    with pytest.raises(ApiError) as caught:
        client(handler).health()
    assert caught.value.status == 307


def test_429_waits_as_asked_and_tries_again(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("ragbase.sdk.client.time.sleep", waits.append)
    busy = httpx.Response(429, headers={"Retry-After": "2"}, json={"detail": "busy"})
    unnamed = httpx.Response(429, json={"detail": "busy"})
    handler, seen = answering(busy, unnamed, httpx.Response(200, json=ANSWER))
    assert client(handler).search("tides").total == 0
    assert waits == [2.0, 0.5]
    assert seen[0].content == seen[2].content


def test_429_ends_after_the_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragbase.sdk.client.time.sleep", lambda _: None)
    busy = [httpx.Response(429, json={"detail": "busy", "code": "overloaded"}) for _ in range(3)]
    handler, seen = answering(*busy)
    with pytest.raises(ApiError, match="busy"):
        client(handler, retries=2).search("tides")
    assert len(seen) == 3


def test_other_errors_are_not_tried_again() -> None:
    handler, seen = answering(httpx.Response(503, json={"detail": "down", "code": "unavailable"}))
    with pytest.raises(ApiError, match="down"):
        client(handler).search("tides")
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("raised", "kind", "message"),
    [
        (httpx.ConnectError("refused"), ConnectionFailedError, "nothing answers at"),
        (httpx.ReadTimeout("slow"), TimedOutError, "did not answer in time"),
        (httpx.RemoteProtocolError("cut"), ConnectionFailedError, "broke: RemoteProtocolError"),
    ],
)
def test_connection_trouble_says_where(
    raised: Exception, kind: type[Exception], message: str
) -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        raise raised

    with pytest.raises(kind, match=message):
        client(handler, url="http://127.0.0.1:1").health()


@pytest.mark.parametrize("url", ["", "localhost:5050", "ftp://host", "http://", "http://[::"])
def test_what_is_no_url_is_refused_at_once(url: str) -> None:
    with pytest.raises(ConnectionFailedError, match=r"not an? "):
        Client(url)


def test_a_lone_surrogate_reaches_the_server_as_an_escape() -> None:
    """The server names the field that has it; the client must not break on it."""
    handler, seen = answering(httpx.Response(422, json={"detail": "bad", "code": "invalid_text"}))
    with pytest.raises(ApiError):
        client(handler).search("broken \ud800 text")
    assert json.loads(seen[0].content)["query"] == "broken \ud800 text"


def test_proxies_are_not_asked_for_this_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    from ragbase.sdk.transport import client_arguments

    assert client_arguments("http://127.0.0.1:5050", None, 1)["trust_env"] is False
    assert client_arguments("http://localhost", None, 1)["trust_env"] is False
    assert client_arguments("http://ragbase.example", None, 1)["trust_env"] is True


def test_iterate_pages_until_the_last_short_one() -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        offset, limit = (int(request.url.params[name]) for name in ("offset", "limit"))
        assert request.url.params["include_content"] == "false"
        rows = [document(number) for number in range(offset, min(offset + limit, 230))]
        return httpx.Response(200, json=rows)

    found = [row.id for row in client(handler).documents.iterate(collection="c")]
    assert found == list(range(230))


async def test_the_async_client_sends_and_fails_alike() -> None:
    handler, seen = answering(
        httpx.Response(429, headers={"Retry-After": "0"}),
        httpx.Response(201, json=document(3)),
        httpx.Response(409, json={"detail": "taken", "code": "conflict"}),
    )
    async with AsyncClient(transport=httpx.MockTransport(handler)) as asked:
        stored = await asked.documents.create("t", "c", external_id="e", collection="x")
        with pytest.raises(ApiError, match="taken"):
            await asked.collections.create("x", language="german")
    assert stored.id == 3
    assert json.loads(seen[1].content) == {
        "title": "t",
        "content": "c",
        "external_id": "e",
        "collection": "x",
    }
    assert json.loads(seen[2].content) == {"name": "x", "language": "german"}


def test_both_clients_offer_the_same_calls() -> None:
    def calls(kind: type) -> set[str]:
        return {name for name in vars(kind) if not name.startswith("_")} - {"close", "aclose"}

    from ragbase.sdk import asynchronous
    from ragbase.sdk import client as blocking

    assert calls(Client) == calls(AsyncClient)
    assert calls(blocking.Documents) == calls(asynchronous.AsyncDocuments)
    assert calls(blocking.Collections) == calls(asynchronous.AsyncCollections)


def test_command_line_and_client_agree_on_the_default_url() -> None:
    assert CLI_URL == DEFAULT_URL


def document(number: int) -> dict[str, Any]:
    return {
        "id": number,
        "title": "t",
        "content": "",
        "metadata": {},
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-01T00:00:00Z",
        "chunk_count": 1,
    }
