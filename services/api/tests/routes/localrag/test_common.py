"""What holds for all routes: the two shapes of errors, missing fields, JSON, unknown paths."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from .conftest import SERVED, OpenLocalrag

STRING = ["/v1/store", "/v1/retrieve", "/v1/delete", "/v1/models/load", "/v1/models/unload"]
OBJECT = ["/v1/chunk", "/v1/query"]
MISSING = {
    "/v1/chunk": ("Missing required parameters: text, model", "text"),
    "/v1/query": ("Missing required parameters: query, chunks, embeddingModel", "query"),
    "/v1/store": ("Document text is required", None),
    "/v1/retrieve": ("Query is required", None),
    "/v1/delete": ("file_id is required", None),
    "/v1/models/load": ("Model name and type (embedding or reranker) are required", None),
    "/v1/models/unload": ("Model name is required", None),
}
JSON = {"content-type": "application/json"}


def text_of(answer: httpx.Response, path: str) -> str:
    """The error's text, from the shape that the path must have."""
    error = answer.json()["error"]
    if path in STRING or path == "/v1/documents":
        assert answer.json() == {"error": error}
        assert isinstance(error, str)
        return error
    assert set(error) == {"message", "type", "param", "code"}
    text: str = error["message"]
    return text


async def test_the_root_says_who_answers(rag: httpx.AsyncClient) -> None:
    answer = await rag.get("/")
    assert (answer.status_code, answer.text) == (200, "Local RAG API Service")
    assert answer.headers["content-type"].startswith("text/plain")


async def test_unknown_paths_and_methods_are_404_in_plain_text(rag: httpx.AsyncClient) -> None:
    """L29: the handler of chat completions has no route here either."""
    for method, path in (
        ("GET", "/v1/nothing"),
        ("GET", "/v1/store"),
        ("PUT", "/v1/models"),
        ("POST", "/v1/store/"),
        ("POST", "/v1/chat/completions"),
    ):
        answer = await rag.request(method, path)
        assert (answer.status_code, answer.text) == (404, "404 Not Found")


@pytest.mark.parametrize("path", [*STRING, *OBJECT])
@pytest.mark.parametrize("raw", [b"{", b"", b"\xff\xfe{}", b"{'a': 1}", b"[1, 2", b"nope"])
async def test_malformed_json_is_the_callers_fault(
    rag: httpx.AsyncClient, path: str, raw: bytes
) -> None:
    """L22: 400, in the shape of the route."""
    answer = await rag.post(path, content=raw, headers=JSON)
    assert answer.status_code == 400
    assert text_of(answer, path) == "The request body is not valid JSON"


@pytest.mark.parametrize("path", [*STRING, *OBJECT])
@pytest.mark.parametrize("raw", [b"[]", b"null", b'"text"', b"7", b"true"])
async def test_json_that_is_no_object_is_the_callers_fault(
    rag: httpx.AsyncClient, path: str, raw: bytes
) -> None:
    answer = await rag.post(path, content=raw, headers=JSON)
    assert answer.status_code == 400
    assert "JSON" in text_of(answer, path)


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded"])
async def test_clients_need_not_call_a_body_json(rag: httpx.AsyncClient, kind: str | None) -> None:
    """As in the original: `fetch` calls a string text, curl calls it a form."""
    headers = {"content-type": kind} if kind else {}
    answer = await rag.post("/v1/delete", content=b'{"file_id": "x"}', headers=headers)
    assert answer.status_code == 404


async def test_requests_are_logged_by_their_route_whatever_they_call_their_body(
    rag: httpx.AsyncClient, logged: list[dict[str, Any]]
) -> None:
    """Metrics are counted by the same name."""
    await rag.post("/v1/delete", content=b'{"file_id": "x"}')
    assert [line["route"] for line in logged if line["event"] == "request"] == [
        "localrag:/v1/delete"
    ]


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded"])
@pytest.mark.parametrize(
    "browser",
    [{"origin": "https://elsewhere.test"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"}],
)
async def test_pages_in_browsers_must_call_a_body_json(
    rag: httpx.AsyncClient, kind: str | None, browser: dict[str, str]
) -> None:
    """So that the browser asks first, and gets no leave; else any page could delete here."""
    headers = {"content-type": kind} if kind else {}
    answer = await rag.post("/v1/delete", content=b'{"file_id": "x"}', headers=headers | browser)
    assert answer.status_code == 400
    assert "Content-Type: application/json" in answer.json()["error"]


@pytest.mark.parametrize("path", MISSING)
@pytest.mark.parametrize("value", [..., "", 0, None, False, "  \n"])
async def test_what_is_false_counts_as_missing(
    rag: httpx.AsyncClient, path: str, value: object
) -> None:
    """Also a blank text: there is nothing to find in it."""
    fields = ("text", "model", "query", "chunks", "embeddingModel", "document", "file_id", "type")
    body = {} if value is ... else dict.fromkeys(fields, value)
    answer = await rag.post(path, json=body)
    expected, param = MISSING[path]
    assert (answer.status_code, text_of(answer, path)) == (400, expected)
    if param is not None:
        error = answer.json()["error"]
        assert (error["type"], error["param"], error["code"]) == (
            "invalid_request_error",
            param,
            None,
        )


async def test_param_names_the_first_missing_field(rag: httpx.AsyncClient) -> None:
    for body, param in (
        ({"model": SERVED}, "text"),
        ({"text": "x"}, "model"),
        ({"text": "x", "model": 0}, "model"),
    ):
        answer = await rag.post("/v1/chunk", json=body)
        assert answer.json()["error"]["param"] == param
    answer = await rag.post("/v1/query", json={"query": "q", "chunks": []})
    assert answer.json()["error"]["param"] == "embeddingModel"


async def test_unknown_fields_are_ignored_and_null_is_the_default(rag: httpx.AsyncClient) -> None:
    body = {"text": "a b", "model": SERVED, "chunkSize": None, "overlap": None, "more": {"x": 1}}
    answer = await rag.post("/v1/chunk", json=body)
    assert answer.status_code == 200
    assert len(answer.json()["chunks"]) == 1


@pytest.mark.parametrize(
    ("path", "field", "values"),
    [
        ("/v1/retrieve", "top_k", ["3", "x", -1, 1.5, 101, True, [3]]),
        ("/v1/query", "topK", ["4", -2, 2.5, True]),
        ("/v1/retrieve", "shouldRerank", ["false", 1]),
        ("/v1/store", "generateContexts", ["yes", 1]),
        ("/v1/store", "folder_id", [True, ["a"]]),
    ],
)
async def test_numbers_and_switches_are_checked(
    rag: httpx.AsyncClient, path: str, field: str, values: list[object]
) -> None:
    """L23: no NaN, no negative cut, no 500."""
    whole = {"query": "q", "chunks": [], "embeddingModel": SERVED, "document": "d"}
    for value in values:
        answer = await rag.post(path, json={**whole, field: value})
        assert answer.status_code == 400, value
        assert field in text_of(answer, path)


@pytest.mark.parametrize("query", ["page=x", "page=1.5", "pageSize=ten", "page=1e3"])
async def test_pages_are_numbers(rag: httpx.AsyncClient, query: str) -> None:
    """L23: of the query string, too."""
    answer = await rag.get(f"/v1/documents?{query}")
    assert answer.status_code == 400
    assert text_of(answer, "/v1/documents")


@pytest.mark.parametrize("path", ["/v1/chunk", "/v1/store"])
@pytest.mark.parametrize(
    ("size", "overlap"),
    [(5, 5), (5, 6), (0, 0), (-1, 0), (5, -1), (2.5, 1), ("5", 1), (5, "1"), (50, None), (True, 0)],
)
async def test_windows_must_advance(
    rag: httpx.AsyncClient, path: str, size: object, overlap: object
) -> None:
    """L9: 400 unless 0 ≤ overlap < chunkSize, both whole numbers; the default overlap is 50."""
    body = {"text": "a b c", "document": "a b c", "model": SERVED, "chunkSize": size}
    answer = await rag.post(path, json={**body, "overlap": overlap})
    assert answer.status_code == 400
    text = text_of(answer, path)
    assert "chunkSize" in text or "overlap" in text


async def test_texts_that_cannot_be_stored_are_refused(rag: httpx.AsyncClient) -> None:
    for path, field in (
        ("/v1/store", "document"),
        ("/v1/chunk", "text"),
        ("/v1/retrieve", "query"),
    ):
        for bad in ("a\x00b", "a\\ud800b"):
            raw = f'{{"{field}": "{bad}", "model": "{SERVED}"}}'.replace("\x00", "\\u0000")
            answer = await rag.post(path, content=raw.encode(), headers=JSON)
            assert answer.status_code == 400
            assert field in text_of(answer, path)


async def test_names_and_ids_that_cannot_exist_are_no_server_error(rag: httpx.AsyncClient) -> None:
    for path, field in (
        ("/v1/delete", "file_id"),
        ("/v1/retrieve", "folder_id"),
        ("/v1/models/unload", "model"),
        ("/v1/chunk", "model"),
    ):
        for bad in ("a\\u0000b", "a\\ud800b"):
            raw = f'{{"query": "q", "text": "t", "{field}": "{bad}"}}'
            answer = await rag.post(path, content=raw.encode(), headers=JSON)
            assert answer.status_code in (400, 404), answer.text
            assert answer.json()["error"]
    assert (await rag.get("/v1/documents?file_id=a%00b")).status_code == 400


@pytest.mark.parametrize("value", ['"a\\ud800b"', "1e400", "123456789012345678901234567890"])
async def test_what_cannot_be_repeated_is_refused_or_null(
    rag: httpx.AsyncClient, value: str
) -> None:
    chunk = f'{{"content": "c", "content_embedding": {[1.0] * 384}, "metadata": {value}}}'
    raw = f'{{"query": "q", "embeddingModel": "{SERVED}", "chunks": [{chunk}]}}'
    answer = await rag.post("/v1/query", content=raw.encode(), headers=JSON)
    assert answer.status_code in (200, 400), answer.text


async def test_limits_have_their_own_status_in_the_routes_shape(
    open_localrag: OpenLocalrag,
) -> None:
    """L32: bodies, texts and chunks are bounded; so are requests in flight (`test_limits`)."""
    _, client = await open_localrag(
        max_body_bytes=2000, max_text_chars=500, localrag_max_chunks=10, max_query_chars=30
    )
    long = await client.post("/v1/store", json={"document": "x" * 3000})
    assert (long.status_code, "RAGBASE_MAX_BODY_BYTES" in text_of(long, "/v1/store")) == (413, True)
    text = await client.post("/v1/store", json={"document": "word " * 150})
    assert (text.status_code, "RAGBASE_MAX_TEXT_CHARS" in text_of(text, "/v1/store")) == (413, True)
    query = await client.post("/v1/retrieve", json={"query": "q" * 31})
    assert query.status_code == 413
    body = {"query": "q" * 31, "chunks": [], "embeddingModel": SERVED}
    query = await client.post("/v1/query", json=body)
    assert (query.status_code, query.json()["error"]["code"]) == (413, "query_too_long")
    text = await client.post("/v1/chunk", json={"text": "word " * 150, "model": SERVED})
    assert (text.status_code, text.json()["error"]["code"]) == (413, "text_too_long")
    body = {"text": "w " * 200, "model": SERVED, "chunkSize": 2, "overlap": 1}
    many = await client.post("/v1/chunk", json=body)
    assert many.status_code == 413
    assert many.json()["error"]["code"] == "too_many_chunks"
    assert "LOCALRAG_MAX_CHUNKS" in many.json()["error"]["message"]
    chunks = [{"content": "c", "content_embedding": [1.0]}] * 11
    sent = await client.post(
        "/v1/query", json={"query": "q", "chunks": chunks, "embeddingModel": SERVED}
    )
    assert sent.status_code == 413


async def test_foreign_hosts_are_refused_on_loopback(rag: httpx.AsyncClient) -> None:
    answer = await rag.get("/v1/documents", headers={"host": "evil.example"})
    assert answer.status_code == 403
    assert isinstance(answer.json()["error"], str)


async def test_what_breaks_unexpectedly_shows_no_internals(
    open_localrag: OpenLocalrag, monkeypatch: pytest.MonkeyPatch, logged: list[dict[str, Any]]
) -> None:
    """L22: the text of an exception stays in the log."""
    _, client = await open_localrag()

    async def broken(*_: object, **__: object) -> None:
        raise ValueError("S3CRET in /srv/models")

    monkeypatch.setattr("ragbase.services.localrag.files.FileService.page", broken)
    monkeypatch.setattr("ragbase.services.localrag.models.LocalModels.listing", broken)
    files = await client.get("/v1/documents")
    assert (files.status_code, files.json()) == (500, {"error": "Internal Server Error"})
    models = await client.get("/v1/models")
    assert models.status_code == 500
    assert models.json()["error"]["type"] == "server_error"
    assert "S3CRET" not in files.text + models.text
    assert [line["event"] for line in logged].count("unexpected_error") == 2


async def test_requests_are_counted_under_the_apis_name(rag: httpx.AsyncClient) -> None:
    await rag.get("/v1/documents")
    metrics = (await rag.get("/metrics")).text
    assert 'route="localrag:/v1/documents"' in metrics
