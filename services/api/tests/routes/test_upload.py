"""Uploading files, as a caller meets it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import psutil
import pytest

from ragbase.ingest.parse.launch import ForkServer

from ..sample_files import CORE, docx, pdf, word_body
from .conftest import OpenApp

Files = dict[str, Any]


def part(name: str, data: bytes, media_type: str = "application/octet-stream") -> Files:
    return {"file": (name, data, media_type)}


async def post(
    api: httpx.AsyncClient,
    name: str,
    data: bytes,
    headers: dict[str, str] | None = None,
    **fields: str,
) -> httpx.Response:
    return await api.post(
        "/v1/documents/upload", files=part(name, data), data=fields, headers=headers
    )


@pytest.mark.parametrize(
    ("name", "data", "title", "content", "metadata"),
    [
        ("a/notes.txt", b"Ships moor.", "notes", "Ships moor.", {}),
        ("n.md", b"---\nyear: 2024\n---\n# Tides\n\nx", "Tides", None, {"year": 2024}),
        ("p.html", b"<title>Quay</title><p>North &lt;b&gt;", "Quay", "North <b>", {}),
        ("t.csv", b"ship;depth\nAnn;3\n", "t", "ship: Ann\ndepth: 3", {}),
        (
            "d.docx",
            docx(word_body("# Mooring", "Ships moor."), {"docProps/core.xml": CORE}),
            "Harbour rules",
            "# Mooring\n\nShips moor.",
            {"author": "Ann"},
        ),
        (
            "r.pdf",
            pdf(["Ships moor."], ["At dusk."], info={"Title": "Rules", "Author": "Bo"}),
            "Rules",
            "Ships moor.\n\nAt dusk.",
            {"author": "Bo"},
        ),
    ],
)
async def test_each_kind_becomes_a_document(
    api: httpx.AsyncClient, name: str, data: bytes, title: str, content: str | None, metadata: Files
) -> None:
    answer = await post(api, name, data)
    assert answer.status_code == 201, answer.text
    body = answer.json()
    assert (body["title"], body["outcome"]) == (title, "created")
    assert body["content"] == (data.decode() if content is None else content)
    about = body["metadata"].pop("file")
    assert body["metadata"] == metadata
    assert about["media_type"].partition("/")[0] in ("text", "application")
    assert about.get("pages") == (2 if name == "r.pdf" else None)
    found = await api.post("/v1/search/keyword", json={"query": "moor quay tides depth"})
    assert found.json()["results"][0]["document_id"] == body["id"]


async def test_given_fields_win_over_the_files_own(api: httpx.AsyncClient) -> None:
    await api.post("/v1/collections", json={"name": "port"})
    data = b"---\ntitle: Own\nyear: 2024\nkept: 1\n---\ntext"
    fields = {
        "title": "Given",
        "metadata": json.dumps({"year": 1999, "n": [1]}),
        "external_id": "x/1",
        "collection": "port",
    }
    body = (await post(api, "n.md", data, **fields)).json()
    assert (body["title"], body["external_id"], body["collection"]) == ("Given", "x/1", "port")
    about = {"media_type": "text/markdown"}
    assert body["metadata"] == {"year": 1999, "kept": 1, "n": [1], "file": about}


async def test_an_external_id_replaces_and_the_same_file_costs_nothing(
    api: httpx.AsyncClient,
) -> None:
    first = await post(api, "a.txt", b"one", external_id="a")
    again = await post(api, "a.txt", b"one", external_id="a")
    other = await post(api, "a.txt", b"two", external_id="a")
    assert [answer.status_code for answer in (first, again, other)] == [201, 200, 200]
    outcomes = [answer.json()["outcome"] for answer in (first, again, other)]
    assert outcomes == ["created", "unchanged", "replaced"]
    assert first.json()["id"] == other.json()["id"]


async def test_one_content_is_one_document_with_dedupe(api: httpx.AsyncClient) -> None:
    first = await post(api, "a.md", b"# One\n\ntext", dedupe="true")
    second = await post(api, "other name.md", b"# One\n\ntext", dedupe="true")
    assert (second.status_code, second.json()["id"]) == (200, first.json()["id"])


async def test_what_was_odd_about_the_file_is_told(api: httpx.AsyncClient) -> None:
    answer = await post(api, "old.txt", "Die Tür schließt früh.".encode("latin-1"))
    assert answer.json()["content"] == "Die Tür schließt früh."
    assert [warning["code"] for warning in answer.json()["warnings"]] == ["encoding_guessed"]


async def test_metadata_of_the_file_that_are_too_much_are_left_out(open_app: OpenApp) -> None:
    _, api = await open_app(max_metadata_bytes=200)
    data = b"---\nlong: " + b"x" * 300 + b"\n---\n# T\n\ntext"
    body = (await post(api, "a.md", data, metadata='{"a": 1}')).json()
    assert body["metadata"] == {"a": 1}
    assert [warning["code"] for warning in body["warnings"]] == ["file_metadata_left_out"]


@pytest.mark.parametrize(
    ("name", "data", "status", "code"),
    [
        ("a.txt", b"", 422, "blank"),
        ("a.txt", b" \n\t", 422, "blank"),
        ("a.html", b"<script>x</script><!-- y -->", 422, "no_text"),
        ("a.pdf", pdf([]), 422, "no_text"),
        ("a.pdf", pdf(["x"], locked=True), 422, "encrypted"),
        ("a.pdf", pdf(["x"])[:300], 422, "file_unreadable"),
        ("a.pdf", b"just text", 415, "unsupported_media_type"),
        ("a.docx", b"just text", 415, "unsupported_media_type"),
        ("a.docx", docx(word_body("x"))[:200], 422, "file_unreadable"),
        ("a.txt", b"\x89PNG\r\n\x1a\n\0\0", 415, "unsupported_media_type"),
        ("a.txt", b"a\0b", 415, "unsupported_media_type"),
        ("a.txt", b"x" * 9000 + b"\0", 422, "invalid_text"),
        ("a.txt", b"\xff\xfe\x00\xd8", 422, "invalid_text"),
    ],
)
async def test_files_that_cannot_be_read_say_why(
    api: httpx.AsyncClient, name: str, data: bytes, status: int, code: str
) -> None:
    """B001: NUL and surrogates in a file are a 4xx; B015: a document without text is no success."""
    answer = await post(api, name, data)
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text


async def test_no_nul_or_surrogate_reaches_the_store_from_extracted_text(
    api: httpx.AsyncClient,
) -> None:
    """B001: what a parser makes of damaged files is cleaned; front matter cannot smuggle either."""
    html = await post(api, "a.html", b"<p>a&#0;b&#xD800;c\x01d</p>")
    assert html.status_code == 201, html.text
    assert html.json()["content"] == "a\ufffdb\ufffdcd"
    smuggled = b'---\ntitle: "T\\ud800"\nname: "a\\0b"\nlone: "\\ud800"\n---\ntext'
    markdown = await post(api, "a.md", smuggled)
    assert markdown.status_code == 201, markdown.text
    assert markdown.json()["title"] == "T"
    assert markdown.json()["metadata"] == {}


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"metadata": "[1]"}, "metadata"),
        ({"metadata": "{oops"}, "metadata"),
        ({"metadata": '{"a": NaN}'}, "metadata"),
        ({"collection": "No Such"}, "collection"),
        ({"dedupe": "maybe"}, "dedupe"),
        ({"title": ""}, "title"),
        ({"external_id": "x" * 2000}, "external_id"),
        ({"unknown": "1"}, "unknown"),
    ],
)
async def test_a_wrong_field_is_named(
    api: httpx.AsyncClient, fields: dict[str, str], where: str
) -> None:
    answer = await post(api, "a.txt", b"text", **fields)
    assert answer.status_code == 422, answer.text
    assert where in answer.json()["detail"][0]["loc"] or where in answer.json()["detail"][0]["msg"]


async def test_an_unknown_collection_is_told_before_the_file_is_read(
    api: httpx.AsyncClient,
) -> None:
    answer = await post(api, "a.pdf", b"%PDF-1.4 broken", collection="nowhere")
    assert (answer.status_code, answer.json()["code"]) == (404, "collection_not_found")


async def test_a_request_without_a_file_says_what_to_send(api: httpx.AsyncClient) -> None:
    path = "/v1/documents/upload"
    as_json = await api.post(path, json={"title": "x"})
    assert (as_json.status_code, as_json.json()["code"]) == (415, "unsupported_media_type")
    no_file = await api.post(path, files={"other": ("a.txt", b"x")})
    assert (no_file.status_code, no_file.json()["code"]) == (422, "missing")
    no_name = await api.post(path, files={"file": (None, b"x")})
    assert (no_name.status_code, no_name.json()["code"]) == (422, "missing")
    two = await api.post(path, files=[("file", ("a.txt", b"x")), ("file", ("b.txt", b"y"))])
    assert two.status_code == 400
    garbled = await api.post(
        path, content=b"--x", headers={"content-type": "multipart/form-data; boundary=y"}
    )
    assert garbled.status_code == 400


async def test_parts_and_their_heads_are_bounded(api: httpx.AsyncClient) -> None:
    path = "/v1/documents/upload"
    many = await api.post(
        path, files=part("a.txt", b"x"), data={f"f{number}": "x" for number in range(100)}
    )
    assert many.status_code == 400
    big = await api.post(path, files=part("a.txt", b"x"), data={"title": "x" * 2_000_000})
    assert big.status_code in (400, 413)
    head = b'--b\r\ncontent-disposition: form-data; name="file"; filename="' + b"x" * 100_000
    long = await api.post(
        path, content=head, headers={"content-type": "multipart/form-data; boundary=b"}
    )
    assert long.status_code == 400


async def test_a_file_over_the_limit_is_413_announced_or_not(open_app: OpenApp) -> None:
    _, api = await open_app(max_upload_bytes=100_000, max_body_bytes=2048, max_metadata_bytes=200)
    fits = await post(api, "a.txt", b"word " * 1000)
    assert fits.status_code == 201, fits.text  # the bound of JSON bodies does not hold here
    over = await post(api, "a.txt", b"x" * 100_001)
    assert (over.status_code, over.json()["code"]) == (413, "file_too_large")
    assert "RAGBASE_MAX_UPLOAD_BYTES" in over.json()["detail"]
    far_over = await post(api, "a.txt", b"x" * 3_000_000)
    assert (far_over.status_code, far_over.json()["code"]) == (413, "body_too_large")
    assert "RAGBASE_MAX_UPLOAD_BYTES" in far_over.json()["detail"]


async def test_a_text_over_the_limit_is_413_whatever_it_came_in(open_app: OpenApp) -> None:
    _, api = await open_app(max_text_chars=100)
    long = "word " * 40
    for name, data in (
        ("a.txt", long.encode()),
        ("a.txt", b"x" * 1000),
        ("a.html", f"<p>{long}".encode()),
        ("a.csv", b"a,b\n" + b"1,2\n" * 40),
        ("a.pdf", pdf([long])),
        ("a.docx", docx(word_body(long))),
    ):
        answer = await post(api, name, data)
        assert (answer.status_code, answer.json()["code"]) == (413, "text_too_long"), name
        assert "RAGBASE_MAX_TEXT_CHARS" in answer.json()["detail"]


async def test_a_job_reads_the_file_later(open_app: OpenApp) -> None:
    _, api = await open_app(workers=1)
    headers = {"prefer": "respond-async, wait=30"}
    done = await post(api, "r.pdf", pdf(["Ships moor."]), headers, external_id="r")
    assert done.status_code == 201, done.text
    assert (done.json()["title"], done.json()["content"]) == ("r", "Ships moor.")
    latin = "Die Tür schließt früh.".encode("latin-1")
    warned = await post(api, "old.txt", latin, headers)
    assert [warning["code"] for warning in warned.json()["warnings"]] == ["encoding_guessed"]
    queued = await post(api, "a.txt", b"text", {"prefer": "respond-async"})
    assert queued.status_code == 202
    assert queued.headers["location"] == f"/v1/jobs/{queued.json()['id']}"
    scan = await post(api, "scan.pdf", pdf([]), headers)
    assert scan.status_code == 202
    assert (scan.json()["state"], scan.json()["error"]["code"]) == ("failed", "no_text")
    refused = await post(api, "a.png", b"\x89PNG\r\n\x1a\n", {"prefer": "respond-async"})
    assert refused.status_code == 415  # known at once, so no job


async def test_when_the_caller_goes_away_the_file_is_read_no_further(open_app: OpenApp) -> None:
    app, api = await open_app()
    cells = b"<table>" + (b"<tr>" + b"<td>c" * 10) * 50_000
    request = api.build_request("POST", "/v1/documents/upload", files=part("a.html", cells))
    body = [{"type": "http.request", "body": await request.aread()}]
    server = app.state.services.uploads._parser._processes
    going = asyncio.Event()

    async def receive() -> dict[str, Any]:
        if body:
            return body.pop()
        await going.wait()
        return {"type": "http.disconnect"}

    async def send(_: Any) -> None:
        return

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/documents/upload",
        "query_string": b"",
        "headers": [(name.lower(), value) for name, value in request.headers.raw],
    }
    call = asyncio.create_task(app(scope, receive, send))
    async with asyncio.timeout(20):
        while not reading(server):  # noqa: ASYNC110 - another process sets no event here
            await asyncio.sleep(0.01)
        going.set()
        await call
        while reading(server):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert (await api.get("/v1/documents")).json() == []


def reading(server: ForkServer) -> list[psutil.Process]:
    """The processes that read files."""
    return psutil.Process(server.process_id).children() if server.process_id else []
