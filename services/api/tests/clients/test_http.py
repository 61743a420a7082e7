"""Faults below HTTP, on a bare socket: what a library's mock cannot get wrong for us."""

from __future__ import annotations

import asyncio
import re
import socket
import struct
from typing import Any

import pytest

from ragbase.clients.answers import RefusedError, TransientError
from ragbase.clients.http import AsyncHttp, Endpoint, SyncHttp
from ragbase.clients.retry import RetryPolicy
from ragbase.clients.tei import TeiEmbedder
from ragbase.clients.vectors import UnusableAnswerError
from ragbase.errors import ConfigurationError, EmbedderUnavailableError, TooLargeError

OK = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
ONCE = RetryPolicy(attempts=1)


async def _body(head: bytes, reader: asyncio.StreamReader) -> bytes:
    found = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
    return await reader.readexactly(int(found.group(1))) if found else b""


def _ok(body: bytes) -> bytes:
    return OK % (len(body), body)


async def _call(url: str, policy: RetryPolicy, timeout_s: float = 5.0) -> bytes:
    http = AsyncHttp(Endpoint.parse(url), timeout_s=timeout_s)
    try:
        return await http.call("POST", "x", {"a": 1}, read=lambda a: a.body, policy=policy)
    finally:
        await http.aclose()


def _tei(stub: Any, url: str, quick: RetryPolicy, timeout_s: float = 5.0) -> TeiEmbedder:
    return TeiEmbedder(url, retry=quick, timeout_s=timeout_s)


async def test_a_disconnect_in_the_body_is_retried(wire: Any, quick: RetryPolicy) -> None:
    calls = 0

    async def handler(head: bytes, reader: Any, writer: asyncio.StreamWriter) -> None:
        nonlocal calls
        calls += 1
        await _body(head, reader)
        if calls < 3:
            writer.write(OK % (100, b"[[0.1,"))
            writer.close()
        else:
            writer.write(_ok(b"[]"))

    async with wire(handler) as url:
        assert await _call(url, quick) == b"[]"
    assert calls == 3


async def test_a_reset_is_retried(wire: Any, quick: RetryPolicy) -> None:
    calls = 0

    async def handler(head: bytes, reader: Any, writer: asyncio.StreamWriter) -> None:
        nonlocal calls
        calls += 1
        if calls < 3:
            hard = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, hard)
            writer.transport.abort()
            raise ConnectionError
        await _body(head, reader)
        writer.write(_ok(b"[]"))

    async with wire(handler) as url:
        assert await _call(url, quick) == b"[]"


async def test_a_413_closes_its_connection_and_the_halves_go_on_fresh_ones(
    wire: Any, stub: Any, quick: RetryPolicy
) -> None:
    """TEI answers 413 before it has read the body and closes without saying so."""
    refused: list[Any] = []
    reused: list[Any] = []

    async def handler(head: bytes, reader: Any, writer: asyncio.StreamWriter) -> None:
        if writer in refused:
            reused.append(writer)
        found = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
        size = int(found[1]) if found else 0
        if size > 300_000:
            refused.append(writer)
            text = b"Failed to buffer the request body: length limit exceeded"
            writer.write(b"HTTP/1.1 413 X\r\ncontent-length: %d\r\n\r\n%b" % (len(text), text))
            await writer.drain()
            await asyncio.sleep(0.02)
            writer.close()
            raise ConnectionError
        raw = await _body(head, reader)
        status, body = stub.respond(head.split()[1].decode().lstrip("/"), raw, {})
        assert status == 200
        writer.write(_ok(body))

    stub.max_batch = 32
    async with wire(handler) as url:
        embedder = _tei(stub, url, quick)
        texts = [f"{'x' * 50_000}{number}" for number in range(16)]
        assert (await embedder.embed_passages(texts)).shape == (16, 12)
        with pytest.raises(TooLargeError):
            await embedder.embed_passages(["x" * 400_000])
        await embedder.aclose()
    assert len(refused) >= 3
    assert not reused


async def test_a_connection_that_said_413_is_not_used_again(wire: Any) -> None:
    """It may look alive: the server closes it a moment after the answer."""
    refused: list[Any] = []
    reused: list[Any] = []

    async def handler(head: bytes, reader: Any, writer: asyncio.StreamWriter) -> None:
        await _body(head, reader)
        if writer in refused:
            reused.append(writer)
        if refused:
            writer.write(_ok(b"[]"))
        else:
            refused.append(writer)
            writer.write(b"HTTP/1.1 413 X\r\ncontent-length: 3\r\n\r\nbig")

    async with wire(handler) as url:
        http = AsyncHttp(Endpoint.parse(url), timeout_s=5)
        with pytest.raises(RefusedError):
            await http.call("POST", "x", {}, read=lambda a: a.body, policy=ONCE)
        assert await http.call("POST", "x", {}, read=lambda a: a.body, policy=ONCE) == b"[]"
        await http.aclose()
    assert not reused


async def test_a_silent_server_is_given_up_in_time(wire: Any) -> None:
    async def handler(head: bytes, reader: Any, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(30)

    async with wire(handler) as url, asyncio.timeout(3):
        with pytest.raises(EmbedderUnavailableError, match=r"not answer within 0\.1 seconds"):
            await _call(url, ONCE, timeout_s=0.1)


async def _drip(head: bytes, reader: Any, writer: asyncio.StreamWriter) -> None:
    writer.write(OK % (1000, b""))
    for _ in range(1000):
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.02)


async def test_a_dripping_server_is_given_up_in_time(wire: Any) -> None:
    """Every read is in time, the whole is not."""
    async with wire(_drip) as url, asyncio.timeout(3):
        with pytest.raises(TransientError, match="within"):
            await _call(url, ONCE, timeout_s=0.2)


async def test_a_dripping_server_is_given_up_in_time_from_a_thread(wire: Any) -> None:
    async with wire(_drip) as url:
        http = SyncHttp(Endpoint.parse(url), timeout_s=0.2)
        with pytest.raises(TransientError, match="within"):
            await asyncio.to_thread(
                lambda: http.call("POST", "x", {}, read=lambda a: a.body, policy=ONCE)
            )
        http.close()


async def test_the_budget_bounds_slow_attempts_together(wire: Any) -> None:
    calls = 0

    async def handler(head: bytes, reader: Any, writer: asyncio.StreamWriter) -> None:
        nonlocal calls
        calls += 1
        await asyncio.sleep(30)

    policy = RetryPolicy(attempts=50, budget_s=0.5, first_wait_s=0.001, longest_wait_s=0.01)
    async with wire(handler) as url, asyncio.timeout(2):
        with pytest.raises(TransientError):
            await _call(url, policy, timeout_s=0.2)
        assert calls in (2, 3, 4)
        with pytest.raises(TransientError):
            await _call(url, policy, timeout_s=30)


async def test_an_endless_answer_is_refused(wire: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragbase.clients.http.ANSWER_BYTES", 1000)

    async def handler(head: bytes, reader: Any, writer: asyncio.StreamWriter) -> None:
        await _body(head, reader)
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        while True:
            writer.write(b"3e8\r\n" + b" " * 1000 + b"\r\n")
            await writer.drain()

    async with wire(handler) as url:
        with pytest.raises(UnusableAnswerError, match="larger than"):
            await _call(url, ONCE)


async def test_an_endless_error_text_is_cut(wire: Any) -> None:
    async def handler(head: bytes, reader: Any, writer: asyncio.StreamWriter) -> None:
        await _body(head, reader)
        writer.write(b"HTTP/1.1 424 X\r\ntransfer-encoding: chunked\r\n\r\n")
        while True:
            writer.write(b"3e8\r\n" + b"no! " * 250 + b"\r\n")
            await writer.drain()

    async with wire(handler) as url, asyncio.timeout(5):
        with pytest.raises(Exception, match="no! no!") as caught:
            await _call(url, ONCE)
    assert len(str(caught.value)) < 400


async def test_garbage_instead_of_http(wire: Any) -> None:
    async def handler(head: bytes, reader: Any, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH\r\n\r\n")

    async with wire(handler) as url:
        with pytest.raises(TransientError, match="broke the connection"):
            await _call(url, ONCE)


async def test_cancellation_goes_through(wire: Any) -> None:
    async def handler(head: bytes, reader: Any, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(30)

    async with wire(handler) as url:
        task = asyncio.create_task(_call(url, RetryPolicy()))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("", "http://"),
        ("embedding:80", "http://"),
        ("ftp://host", "http://"),
        ("http://", "host"),
        ("http://host:99999999", "port"),
        ("http://host:port", "no URL"),
        ("http://host/?key=secret", "query"),
        ("http://host/#x", "fragment"),
    ],
)
def test_unusable_addresses_are_refused_without_repeating_them(url: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said) as caught:
        Endpoint.parse(url)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "schlüssel"])
def test_unusable_keys_are_refused_without_repeating_them(key: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Endpoint.parse("http://host", key)
    assert key not in str(caught.value)


async def test_a_user_in_the_address_becomes_basic_auth(stub: Any) -> None:
    url = stub.url.replace("http://", "http://me:p%40ss@")
    endpoint = Endpoint.parse(url)
    assert "p%40ss" not in repr(endpoint)
    assert "p@ss" not in repr(endpoint)
    http = AsyncHttp(endpoint, timeout_s=5)
    await http.call("GET", "health", read=lambda answer: answer.body, policy=ONCE)
    await http.aclose()
    assert stub.calls[0].headers["authorization"] == "Basic bWU6cEBzcw=="
    with pytest.raises(ConfigurationError, match="not both"):
        Endpoint.parse(url, "key")


async def test_a_path_in_the_address_is_kept(stub: Any) -> None:
    http = AsyncHttp(Endpoint.parse(stub.url + "/models/a/"), timeout_s=5)
    with pytest.raises(Exception, match="404"):
        await http.call("GET", "health", read=lambda answer: answer.body, policy=ONCE)
    await http.aclose()
    assert stub.calls[0].path == "models/a/health"
