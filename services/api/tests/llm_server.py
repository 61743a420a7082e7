"""A language model's server with a script: OpenAI's two routes over real sockets, and their faults.

What it says is ``answer(system, prompt)``; what goes wrong is in ``script``, one entry a request.
The wire forms are those of llama.cpp's server, vLLM and OpenAI's documentation.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

MODEL = "acme/talks-1b"


@dataclass(frozen=True)
class Say:
    """An answer other than ``answer()``: its text, thinking beside it, how it ends."""

    text: str = ""
    thinking: str = ""
    end: str = "whole"
    """``whole``; ``cut``: the connection breaks; ``silent``: it closes without a final event;
    ``length``: the answer is unfinished; ``failed``: an error in the middle."""
    code: str = "server_error"
    wait_s: float = 0.0
    drip_s: float = 0.0
    """Pause after each piece."""


@dataclass(frozen=True)
class Refuse:
    """A status without an answer."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Raw:
    """A 200 with these bytes."""

    body: bytes
    media_type: str = "text/event-stream"


@dataclass
class Asked:
    """One completion as it was asked for."""

    path: str
    payload: dict[str, Any]
    headers: dict[str, str]
    at: float

    @property
    def messages(self) -> list[dict[str, str]]:
        found: list[dict[str, str]] = self.payload.get("input") or self.payload["messages"]
        return found

    @property
    def prompt(self) -> str:
        return self.messages[-1]["content"]


def _echo(system: str, prompt: str) -> str:
    return f"About {len(prompt)} characters."


@dataclass
class Talker:
    """State of the server; a test changes it and looks at it."""

    url: str = ""
    routes: frozenset[str] = frozenset({"v1/responses", "v1/chat/completions"})
    models: list[str] = field(default_factory=lambda: [MODEL])
    api_key: str = ""
    refuses: frozenset[str] = frozenset()
    """Fields of a request that it does not know."""
    context_chars: int = 1_000_000
    usage: bool = True
    streams: bool = True
    delay_s: float = 0.0
    always: Say | Refuse | Raw | None = None
    answer: Callable[[str, str], str] = _echo
    script: deque[Say | Refuse | Raw | None] = field(default_factory=deque)
    calls: list[Asked] = field(default_factory=list)
    pings: int = 0
    in_flight: int = 0
    peak: int = 0
    abandoned: int = 0
    """Streams that the client left."""

    @property
    def paths(self) -> list[str]:
        return [call.path.rpartition("/")[2] for call in self.calls]

    async def serve(self, request: Request) -> Response:
        path = request.url.path.lstrip("/")
        if self.api_key and request.headers.get("authorization") != f"Bearer {self.api_key}":
            return Response(b'{"error":{"message":"bad key: you sent S3CRET"}}', 401)
        if path == "v1/models":
            self.pings += 1
            listed = {"object": "list", "data": [{"id": each} for each in self.models]}
            return Response(orjson.dumps(listed), media_type="application/json")
        if path not in self.routes:
            body = b'{"error":{"code":404,"message":"File Not Found","type":"not_found_error"}}'
            return Response(body, 404, media_type="application/json")
        payload = orjson.loads(await request.body())
        self.calls.append(Asked(path, payload, dict(request.headers), time.monotonic()))
        refusal = self._refusal(payload)
        if refusal is not None:
            return refusal
        turn = (self.script.popleft() if self.script else None) or self.always
        if isinstance(turn, Refuse):
            return Response(turn.body, turn.status, turn.headers, "application/json")
        if isinstance(turn, Raw):
            return Response(turn.body, media_type=turn.media_type)
        said = turn or Say(self.answer(*_asked(payload)))
        if not self.streams:
            return Response(orjson.dumps(_whole(path, said)), media_type="application/json")
        return StreamingResponse(
            self._counted(self._stream(path, said, payload)), media_type="text/event-stream"
        )

    def _refusal(self, payload: dict[str, Any]) -> Response | None:
        for name in sorted(self.refuses & payload.keys()):
            error = {"message": f"Unknown parameter: '{name}'.", "code": "unknown_parameter"}
            return Response(orjson.dumps({"error": error}), 400, media_type="application/json")
        size = sum(len(each["content"]) for each in payload.get("input") or payload["messages"])
        if size > self.context_chars:
            message = (
                f"request ({size} tokens) exceeds the available context size "
                f"({self.context_chars} tokens), try increasing it"
            )
            told = {"code": 400, "message": message, "type": "exceed_context_size_error"}
            return Response(orjson.dumps({"error": told}), 400, media_type="application/json")
        return None

    async def _counted(self, stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)
        try:
            await asyncio.sleep(self.delay_s)
            async for piece in stream:
                yield piece
        except (asyncio.CancelledError, GeneratorExit):
            self.abandoned += 1
            raise
        finally:
            self.in_flight -= 1

    async def _stream(self, path: str, said: Say, payload: dict[str, Any]) -> AsyncIterator[bytes]:
        await asyncio.sleep(said.wait_s)
        events = _responses_events if path.endswith("responses") else _chat_events
        usage = None
        if self.usage:
            usage = (sum(len(each) for each in _asked(payload)) // 4, 1 + len(said.text) // 4)
        for event in events(said, usage):
            if event is None:
                raise ConnectionError("cut")  # uvicorn drops the connection in the middle
            yield event
            await asyncio.sleep(said.drip_s)


def _asked(payload: dict[str, Any]) -> tuple[str, str]:
    messages = payload.get("input") or payload["messages"]
    system = messages[0]["content"] if messages[0]["role"] == "system" else ""
    return system, messages[-1]["content"]


def _pieces(text: str) -> list[str]:
    return [text[start : start + 7] for start in range(0, len(text), 7)]


def _sse(name: str, data: Any) -> bytes:
    return (f"event: {name}\n" if name else "").encode() + b"data: " + orjson.dumps(data) + b"\n\n"


def _responses_events(said: Say, usage: tuple[int, int] | None) -> Iterator[bytes | None]:
    def event(kind: str, **fields: Any) -> bytes:
        return _sse(kind, {"type": kind, **fields})

    yield b": a comment\n\n"
    yield event("response.created", response={"status": "in_progress"})
    for piece in _pieces(said.thinking):
        yield event("response.reasoning_text.delta", delta=piece)
    for number, piece in enumerate(_pieces(said.text)):
        yield event("response.output_text.delta", delta=piece)
        if number == 1 and said.end == "cut":
            yield None
    if said.end == "cut":
        yield None
    if said.end == "silent":
        return
    if said.end == "failed":
        error = {"code": said.code, "message": "it went wrong"}
        yield event("response.failed", response={"status": "failed", "error": error})
        return
    if said.end == "length":
        details = {"reason": "max_output_tokens"}
        response: dict[str, Any] = {"status": "incomplete", "incomplete_details": details}
        if usage is not None:
            response["usage"] = {"input_tokens": usage[0], "output_tokens": usage[1]}
        yield event("response.incomplete", response=response)
        return
    response = _whole("responses", said)
    if usage is not None:
        response["usage"] = {
            "input_tokens": usage[0],
            "output_tokens": usage[1],
            "input_tokens_details": {"cached_tokens": usage[0] // 2},
        }
    yield event("response.completed", response=response)


def _chat_events(said: Say, usage: tuple[int, int] | None) -> Iterator[bytes | None]:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return _sse("", {"object": "chat.completion.chunk", "choices": [choice]})

    yield chunk({"role": "assistant", "content": None})
    for piece in _pieces(said.thinking):
        yield chunk({"reasoning_content": piece})
    for number, piece in enumerate(_pieces(said.text)):
        yield chunk({"content": piece})
        if number == 1 and said.end == "cut":
            yield None
    if said.end == "cut":
        yield None
    if said.end == "silent":
        return
    if said.end == "failed":
        yield _sse("", {"error": {"code": said.code, "message": "it went wrong"}})
        return
    yield chunk({}, "length" if said.end == "length" else "stop")
    if usage is not None:
        counts = {"prompt_tokens": usage[0], "completion_tokens": usage[1]}
        yield _sse("", {"choices": [], "usage": counts})
    yield b"data: [DONE]\n\n"


def _whole(path: str, said: Say) -> dict[str, Any]:
    if path.endswith("responses"):
        content = [{"type": "output_text", "text": said.text}]
        output: list[dict[str, Any]] = [{"type": "message", "content": content}]
        if said.thinking:
            output.insert(0, {"type": "reasoning", "summary": []})
        return {"object": "response", "status": "completed", "output": output}
    message = {"role": "assistant", "content": said.text, "reasoning_content": said.thinking}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}


@contextmanager
def talking(talker: Talker, port: int = 0) -> Iterator[Talker]:
    """Serve ``talker`` in a thread of its own; ``port`` 0 takes a free one."""
    app = Starlette(routes=[Route("/{path:path}", talker.serve, methods=["GET", "POST"])])
    config = uvicorn.Config(app, port=port, log_level="critical", lifespan="off", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    talker.url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    try:
        yield talker
    finally:
        server.force_exit = True
        server.should_exit = True
        thread.join(10)
