"""Lines in, lines out: read as they arrive, answered in order, in bounded memory."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from starlette.types import Message

from ragbase.errors import RagBaseError
from ragbase.routes.ndjson import LineExchange, Lines, Write, is_line_exchange, read_lines


async def lines_of(pieces: list[bytes], line_bytes: int) -> list[bytes | str]:
    async def arriving() -> AsyncIterator[bytes | RagBaseError]:
        for piece in pieces:
            yield piece

    read = read_lines(arriving(), line_bytes=line_bytes)
    return [line.code if isinstance(line, RagBaseError) else line async for line in read]


def cut(content: bytes, places: list[int]) -> list[bytes]:
    borders = [0, *sorted(place % (len(content) + 1) for place in places), len(content)]
    return [content[a:b] for a, b in pairwise(borders)]


@given(
    st.lists(st.binary(max_size=12).map(lambda line: line.replace(b"\n", b"")), max_size=8),
    st.lists(st.integers(0, 200), max_size=6),
    st.booleans(),
)
async def test_lines_are_the_same_however_they_arrive(
    lines: list[bytes], places: list[int], ended: bool
) -> None:
    content = b"\n".join(lines) + (b"\n" if ended else b"")
    expected = [
        line if len(line) <= 8 else "body_too_large"
        for line in lines
        if len(line) > 8 or line.strip()
    ]
    assert await lines_of(cut(content, places), line_bytes=8) == expected


async def test_of_a_line_that_is_too_long_nothing_is_kept() -> None:
    found = await lines_of([b"ok\n", *[b"x" * 100] * 50, b"\nok\n", b"y" * 101], line_bytes=100)
    assert found == [b"ok", "body_too_large", b"ok", "body_too_large"]


class Row(BaseModel):
    line: str


class Caller:
    """Both ends of a connection, by hand."""

    def __init__(self) -> None:
        self.incoming: asyncio.Queue[Message] = asyncio.Queue()
        self.sent: list[bytes] = []
        self.read = 0
        self.takes = asyncio.Event()
        self.takes.set()
        self.heard = asyncio.Event()

    def says(self, body: bytes, *, more: bool = True) -> None:
        self.incoming.put_nowait({"type": "http.request", "body": body, "more_body": more})

    def leaves(self) -> None:
        self.incoming.put_nowait({"type": "http.disconnect"})

    async def receive(self) -> Message:
        message = await self.incoming.get()
        self.read += 1
        return message

    async def send(self, message: Message) -> None:
        await self.takes.wait()
        if message["type"] == "http.response.body":
            self.sent.append(message["body"])
            self.heard.set()

    async def next_line(self) -> dict[str, Any]:
        while not self.sent:
            self.heard.clear()
            await self.heard.wait()
        found: dict[str, Any] = json.loads(self.sent.pop(0))
        return found


async def echo(lines: Lines, write: Write) -> None:
    async for line in lines:
        told = line.code if isinstance(line, RagBaseError) else line.decode()
        await write(Row(line=told))


Started = Callable[..., "asyncio.Task[None]"]


@pytest.fixture
async def start() -> AsyncIterator[Started]:
    tasks: list[asyncio.Task[None]] = []

    def begin(caller: Caller, work: Any = echo, pause_s: float = 10.0) -> asyncio.Task[None]:
        exchange = LineExchange(work, line_bytes=1000, pause_s=pause_s)
        tasks.append(asyncio.create_task(exchange({}, caller.receive, caller.send)))
        return tasks[-1]

    yield begin
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_line_is_answered_before_the_next_one_is_sent(start: Started) -> None:
    caller = Caller()
    task = start(caller)
    caller.says(b"one\ntw")
    assert await caller.next_line() == {"line": "one"}
    caller.says(b"o\n")
    assert await caller.next_line() == {"line": "two"}
    caller.says(b"three", more=False)
    assert await caller.next_line() == {"line": "three"}
    await task


async def test_a_caller_who_reads_nothing_is_not_read_from_either(start: Started) -> None:
    caller = Caller()
    caller.takes.clear()
    start(caller)
    for _ in range(50):
        caller.says(b"line\n")
    for _ in range(200):
        await asyncio.sleep(0)
    assert caller.read == 1
    caller.takes.set()
    for _ in range(50):
        assert await caller.next_line() == {"line": "line"}


async def test_a_pause_that_is_too_long_ends_the_answer_with_an_error(start: Started) -> None:
    caller = Caller()
    task = start(caller, pause_s=0.05)
    caller.says(b"one\nhal")
    await task
    assert [json.loads(line)["line"] for line in caller.sent if line] == ["one", "body_timeout"]
    assert caller.sent[-1] == b""


async def test_a_caller_who_takes_nothing_for_too_long_is_given_up(start: Started) -> None:
    caller = Caller()
    caller.takes.clear()
    task = start(caller, pause_s=0.05)
    caller.says(b"one\n")
    await task
    assert caller.sent == []


@pytest.mark.parametrize("complete", [False, True])
async def test_when_the_caller_leaves_the_work_is_cancelled(start: Started, complete: bool) -> None:
    caller = Caller()
    ended = asyncio.Event()

    async def work(lines: Lines, write: Write) -> None:
        try:
            async for _ in lines:
                await write(Row(line="begun"))
            await asyncio.Event().wait()
        finally:
            ended.set()

    task = start(caller, work)
    caller.says(b"one\n", more=not complete)
    await caller.next_line()
    caller.leaves()
    await task
    assert ended.is_set()


async def test_an_error_of_the_work_is_not_swallowed(start: Started) -> None:
    async def work(_lines: Lines, _write: Write) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await start(Caller(), work)


@pytest.mark.parametrize(
    ("path", "kind", "expected"),
    [
        ("/v1/documents/batch", "application/x-ndjson", True),
        ("/v1/documents/batch", "Application/X-NDJSON; charset=utf-8", True),
        ("/v1/documents/batch", "application/jsonl", True),
        ("/v1/documents/batch", "application/json", False),
        ("/v1/documents", "application/x-ndjson", False),
        ("/v1/documents/batch/", "application/x-ndjson", False),
    ],
)
def test_only_line_exchanges_are_exempt_from_body_limits(
    path: str, kind: str, expected: bool
) -> None:
    scope = {"path": path, "type": "http", "headers": [(b"content-type", kind.encode())]}
    assert is_line_exchange(scope) is expected
