"""Bodies that cannot be read or understood: plain text, before anything is looked at."""

from __future__ import annotations

import http.client
import socket
from urllib.parse import urlsplit

import pytest

from ..scripted import Scripted
from .conftest import Serve
from .live import Live

JSON = {"content-type": "application/json"}


def send(live: Live, body: bytes, path: str = "/embed", **headers: str) -> tuple[int, str, str]:
    answer = live.http.post(path, content=body, headers=JSON | headers)
    return answer.status_code, answer.headers["content-type"], answer.text


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "EOF while parsing a value at line 1 column 0"),
        (b'{"inputs":', "EOF while parsing a value at line 1 column 10"),
        (b"\xef\xbb\xbf{}", "expected value at line 1 column 1"),
        (b'{"inputs":"\xff"}', "invalid unicode code point at line 1 column 12"),
        (b'{"inputs":"\\ud800b"}', "unexpected end of hex escape"),
        (b'{"inputs":"\\udc00"}', "lone leading surrogate in hex escape"),
        (b'{"inputs":"a\x00b"}', "control character"),
        (b'{"inputs":"a\nb"}', "control character"),
        (b'{"inputs":"a"} more', "trailing characters"),
        (b'{"inputs":' + b"[" * 10_000, "recursion limit exceeded"),
        (b"\x1f\x8b\x08\x00", "expected value"),
    ],
    ids=range(11),
)
@pytest.mark.parametrize("path", ["/embed", "/v1/embeddings", "/rerank", "/tokenize", "/v1/ner"])
def test_what_is_no_json_is_400(minilm_server: Live, path: str, body: bytes, said: str) -> None:
    status, kind, text = send(minilm_server, body, path)
    assert (status, kind) == (400, "text/plain; charset=utf-8")
    assert text.startswith("Failed to parse the request body as JSON: ")
    assert said in text


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"{}", "missing field `inputs`"),
        (b"[]", "expected an object"),
        (b'{"inputs":"a","inputs":"b"}', "duplicate field `inputs`"),
        (b'{"inputs":"a","normalize":null}', "normalize"),
        (b'{"inputs":"a","normalize":"yes"}', "normalize"),
        (b'{"inputs":"a","truncation_direction":"LEFT"}', "truncation_direction"),
        (b'{"inputs":"a","dimensions":-1}', "dimensions"),
        (b'{"inputs":"a","dimensions":1.5}', "dimensions"),
        (b'{"inputs":"a","dimensions":"128"}', "dimensions"),
        (b'{"inputs":1}', "inputs"),
        (b'{"inputs":null}', "inputs"),
        (b'{"inputs":[1,"a"]}', "inputs"),
        (b'{"inputs":[-1]}', "inputs"),
        (b'{"inputs":[4294967296]}', "inputs"),
        (b'{"inputs":[[["a"]]]}', "inputs"),
        (b'{"inputs":{"text":"a"}}', "inputs"),
    ],
)
def test_json_of_another_shape_is_422(minilm_server: Live, body: bytes, said: str) -> None:
    status, kind, text = send(minilm_server, body)
    assert (status, kind) == (422, "text/plain; charset=utf-8")
    assert text.startswith("Failed to deserialize the JSON body into the target type: ")
    assert said in text


def test_the_name_of_a_field_may_occur_in_a_text(minilm_server: Live) -> None:
    body = b'{"inputs":"the field \\"inputs\\", and \\"normalize\\"","inputs2":{"inputs":1}}'
    assert send(minilm_server, body)[0] == 200


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_what_is_not_called_json_is_415(minilm_server: Live, content_type: str) -> None:
    status, kind, text = send(minilm_server, b'{"inputs":"a"}', **{"content-type": content_type})
    assert (status, kind) == (415, "text/plain; charset=utf-8")
    assert text == "Expected request with `Content-Type: application/json`"


@pytest.mark.parametrize(
    "content_type",
    ["application/vnd.x+json", "application/json; charset=utf-8", "Application/JSON"],
)
def test_kinds_of_json_are_json(minilm_server: Live, content_type: str) -> None:
    assert send(minilm_server, b'{"inputs":"a"}', **{"content-type": content_type})[0] == 200


def body_of(size: int) -> bytes:
    text = b'{"inputs":"' + b"a" * 100 + b'","rest":"'
    return text + b" " * (size - len(text) - 2) + b'"}'


def test_two_million_bytes_are_read_and_no_more(minilm_server: Live) -> None:
    assert send(minilm_server, body_of(2_000_000))[0] == 200
    status, kind, text = send(minilm_server, body_of(2_000_001))
    assert (status, kind) == (413, "text/plain; charset=utf-8")
    assert text == "Failed to buffer the request body: length limit exceeded"


def test_a_body_without_a_length_is_bounded_too(serve: Serve) -> None:
    live = serve(payload_limit=1000)
    answer = live.http.post("/embed", content=iter([b" " * 400] * 4), headers=JSON)
    assert (answer.status_code, answer.headers["connection"]) == (413, "close")
    assert live.post("/embed", {"inputs": "a"}).status_code == 200


def test_an_announced_body_is_refused_unread(serve: Serve) -> None:
    live = serve()
    address = urlsplit(live.url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=10)
    connection.putrequest("POST", "/embed")
    connection.putheader("content-type", "application/json")
    connection.putheader("content-length", str(10**12))
    connection.endheaders()
    answer = connection.getresponse()
    assert (answer.status, answer.getheader("connection")) == (413, "close")
    connection.close()


def test_a_body_that_does_not_come_is_408(serve: Serve) -> None:
    live = serve(body_timeout=0.05)
    address = urlsplit(live.url)
    with socket.create_connection((address.hostname or "", address.port or 0), 10) as wire:
        wire.sendall(
            b"POST /embed HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
            b"content-length: 100\r\n\r\n{"
        )
        assert wire.recv(4096).startswith(b"HTTP/1.1 408 ")


def test_http_1_0_is_answered(serve: Serve, model: Scripted) -> None:
    live = serve()
    address = urlsplit(live.url)
    with socket.create_connection((address.hostname or "", address.port or 0), 10) as wire:
        wire.sendall(
            b"POST /embed HTTP/1.0\r\ncontent-type: application/json\r\n"
            b'content-length: 14\r\n\r\n{"inputs":"a"}'
        )
        assert b" 200 OK" in wire.recv(4096)
    assert len(model.batches) == 1


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/embed", 405), ("PUT", "/embed", 405), ("POST", "/embed/", 404), ("GET", "/x", 404)],
)
def test_no_such_route_or_method_has_no_body(
    minilm_server: Live, method: str, path: str, status: int
) -> None:
    answer = minilm_server.http.request(method, path, follow_redirects=False)
    assert (answer.status_code, answer.content) == (status, b"")
    assert "content-type" not in answer.headers
    if status == 405:
        assert answer.headers["allow"] == "POST"


@pytest.mark.parametrize("path", ["/", "/ping", "/health"])
def test_probes_are_200_without_a_body(minilm_server: Live, path: str) -> None:
    answer = minilm_server.get(path)
    assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize("path", ["/info", "/health", "/nothing"])
def test_every_answer_has_cors_headers(minilm_server: Live, path: str) -> None:
    headers = minilm_server.get(path).headers
    assert headers["access-control-allow-origin"] == "*"
    assert headers["vary"] == (
        "origin, access-control-request-method, access-control-request-headers"
    )


def test_preflight_allows_json_and_no_more(minilm_server: Live) -> None:
    answer = minilm_server.http.options("/embed", headers={"origin": "http://x"})
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-methods"] == "GET,POST"
    assert answer.headers["access-control-allow-headers"] == "content-type"
