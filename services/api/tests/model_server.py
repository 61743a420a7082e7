"""A model server with TEI's and OpenAI's routes, real HTTP, small limits and scripted faults.

Its "model" adds up one fixed vector a token, so equal texts have equal vectors and any cut shows;
its reranker scores the share of the query's words that a text holds.
The wire forms are those measured on TEI 1.9.3.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import orjson
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

DIMENSION = 12
MODEL = "acme/words-12"


@dataclass
class Call:
    """One request as the server saw it."""

    path: str
    payload: Any
    headers: dict[str, str]
    at: float


class Fault(Exception):  # noqa: N818 - an answer, thrown to leave the handler
    """An answer other than the model's: status, headers and body as they go on the wire."""

    def __init__(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.status, self.body = status, body
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


@dataclass
class Stub:
    """State of the server; a test changes it and looks at it."""

    url: str = ""
    max_tokens: int = 16
    max_batch: int = 4
    permits: int = 512
    payload_limit: int = 2_000_000
    api_key: str = ""
    model_id: str = MODEL
    model_type: dict[str, Any] = field(default_factory=lambda: {"embedding": {"pooling": "mean"}})
    default_prompt: str = ""
    base64: bool = True
    tei: bool = True
    sidecar: bool = False
    """Only `/rerank` and `/health`, without a limit on the texts of a call."""
    models: dict[str, Any] | None = None
    delay_s: float = 0.0
    held: bool = False
    """While true no call for vectors is answered."""
    script: deque[Fault | None] = field(default_factory=deque)
    offsets: list[tuple[Any, Any]] | None = None
    mangle: Callable[[list[Any]], Any] | None = None
    calls: list[Call] = field(default_factory=list)
    in_flight: int = 0
    peak: int = 0

    def reset(self) -> None:
        self.__dict__.update(Stub(url=self.url).__dict__)

    def texts(self, path: str = "embed") -> list[list[str]]:
        """Inputs of the calls of ``path``, without the test text that asks for the dimension."""
        lists = [
            call.payload.get("inputs", call.payload.get("input", call.payload.get("texts")))
            for call in self.calls
            if call.path.endswith(path) and call.payload
        ]
        return [texts for texts in lists if texts != ["dimension"]]

    # The model

    def tokens(self, text: str) -> list[re.Match[bytes]]:
        return list(re.finditer(rb"[\w\x80-\xff]+|[^\w\s]", text.encode()))

    def vector(self, text: str) -> list[float]:
        words = [match.group() for match in self.tokens(text)][: self.max_tokens - 2]
        rows = [_word_vector(word) for word in (b"[CLS]", *words, b"[SEP]")]
        mean = np.mean(rows, axis=0)
        return [float(value) for value in mean / np.linalg.norm(mean)]

    def relevance(self, query: str, text: str) -> float:
        wanted, there = set(query.lower().split()), set(text.lower().split())
        noise = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=2).digest()) / 2**16
        return (len(wanted & there) + noise / 2) / (len(wanted) + 1)

    # The routes

    def respond(self, path: str, raw: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        """Status and body; raises `Fault`."""
        payload = orjson.loads(raw) if raw else None
        self.calls.append(Call(path, payload, headers, time.monotonic()))
        if path == "health":
            return 200, b""
        if self.api_key and headers.get("authorization") != f"Bearer {self.api_key}":
            raise Fault(401)
        if len(raw) > self.payload_limit:
            raise Fault(413, b"Failed to buffer the request body: length limit exceeded")
        routes: dict[str, Callable[[Any], Any]] = {"v1/embeddings": self._openai}
        if self.models is not None:
            routes["v1/models"] = lambda _: self.models
        if self.tei:
            routes |= {
                "info": self._info,
                "embed": self._embed,
                "tokenize": self._tokenize,
                "rerank": self._rerank,
            }
        if self.sidecar:
            routes = {"rerank": self._rerank}
        if path not in routes:
            raise Fault(404)
        return 200, orjson.dumps(routes[path](payload))

    def _info(self, _: object) -> dict[str, Any]:
        return {
            "model_id": self.model_id,
            "model_sha": None,
            "served_model_name": self.model_id,
            "model_type": self.model_type,
            "max_concurrent_requests": self.permits,
            "max_input_length": self.max_tokens,
            "max_client_batch_size": self.max_batch,
            "auto_truncate": True,
            "version": "1.9.3",
        }

    def _embed(self, payload: dict[str, Any]) -> Any:
        vectors = self._checked(payload["inputs"], truncate=payload.get("truncate") is not False)
        return self.mangle(vectors) if self.mangle else vectors

    def _rerank(self, payload: dict[str, Any]) -> Any:
        query, texts = payload["query"], payload["texts"]
        if self.script and (fault := self.script.popleft()):
            raise fault
        if not self.sidecar:
            self._check_batch(texts)
        if any(not text.strip() for text in texts) or not (texts or self.sidecar):
            raise Fault(400, b'{"error":"`texts` cannot be empty","error_type":"Empty"}')
        scores = enumerate(self.relevance(query, text) for text in texts)
        rows = [{"index": index, "score": score} for index, score in scores]
        rows.sort(key=lambda row: (-row["score"], -row["index"]))  # ties: TEI's odd order
        return self.mangle(rows) if self.mangle else rows

    def _openai(self, payload: dict[str, Any]) -> dict[str, Any]:
        encoding = payload.get("encoding_format")
        if encoding == "base64" and not self.base64:
            raise Fault(422, b'{"error":{"message":"encoding_format: float only","type":"x"}}')
        vectors = self._checked(payload["input"], truncate=True)
        data = [
            {"object": "embedding", "index": number, "embedding": _encoded(vector, encoding)}
            for number, vector in enumerate(vectors)
        ]
        data = self.mangle(data) if self.mangle else data
        return {"object": "list", "data": data, "model": payload["model"], "usage": {}}

    def _tokenize(self, payload: dict[str, Any]) -> Any:
        self._check_batch(payload["inputs"])
        return [
            self._wire_tokens(self.default_prompt + text, payload["add_special_tokens"])
            for text in payload["inputs"]
        ]

    def _wire_tokens(self, text: str, special: bool) -> list[dict[str, Any]]:
        if self.offsets is not None:
            return [{"special": False, "start": a, "stop": b} for a, b in self.offsets]
        edge = [{"id": 1, "text": "[CLS]", "special": True, "start": None, "stop": None}]
        own = [
            {"id": 2, "text": "?", "special": False, "start": match.start(), "stop": match.end()}
            for match in self.tokens(text)
        ]
        return edge + own + edge if special else own

    def _check_batch(self, inputs: list[str]) -> None:
        if len(inputs) > self.max_batch:
            raise _validation(
                f"batch size {len(inputs)} > maximum allowed batch size {self.max_batch}"
            )

    def _checked(self, inputs: list[str], *, truncate: bool) -> list[Any]:
        if self.script and (fault := self.script.popleft()):
            raise fault
        self._check_batch(inputs)
        for text in inputs:
            if not text:
                raise Fault(400, b'{"error":"`inputs` cannot be empty","error_type":"Empty"}')
            count = len(self.tokens(text)) + 2
            if not truncate and count > self.max_tokens:
                raise _validation(
                    f"Input validation error: `inputs` must have less than {self.max_tokens} "
                    f"tokens. Given: {count}"
                )
        return [self.vector(text) for text in inputs]

    async def serve(self, request: Request) -> Response:
        raw = await request.body()
        path = request.url.path.lstrip("/")
        inputs = (
            len(re.findall(rb'","', raw[raw.find(b"[") :])) + 1
            if re.search("embed|rerank", path)
            else 0
        )
        if self.in_flight + inputs > self.permits:
            return Response(b'{"error":"Model is overloaded","error_type":"Overloaded"}', 429)
        self.in_flight += inputs
        self.peak = max(self.peak, self.in_flight)
        try:
            await asyncio.sleep(self.delay_s if inputs else 0)
            while self.held and inputs:  # noqa: ASYNC110 - set from another thread
                await asyncio.sleep(0.01)
            status, body = self.respond(path, raw, dict(request.headers))
        except Fault as fault:
            return Response(fault.body, fault.status, fault.headers)
        finally:
            self.in_flight -= inputs
        return Response(body, status, media_type="application/json")


def cut() -> Fault:
    """Half an answer, and then a closed connection."""
    return Fault(200, b'[{"index":0,', content_length="1000")


def _word_vector(word: bytes) -> np.ndarray[Any, Any]:
    seed = int.from_bytes(hashlib.blake2b(word, digest_size=8).digest(), "little")
    return np.random.default_rng(seed).standard_normal(DIMENSION)


def _encoded(vector: list[float], encoding: str | None) -> Any:
    raw = np.asarray(vector, dtype="<f4")
    return base64.b64encode(raw.tobytes()).decode() if encoding == "base64" else vector


def _validation(text: str) -> Fault:
    return Fault(422, orjson.dumps({"error": text, "error_type": "Validation"}))


@contextmanager
def running(stub: Stub, port: int = 0) -> Iterator[Stub]:
    """Serve ``stub`` in a thread of its own; ``port`` 0 takes a free one."""
    app = Starlette(routes=[Route("/{path:path}", stub.serve, methods=["GET", "POST"])])
    config = uvicorn.Config(app, port=port, log_level="critical", lifespan="off", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    stub.url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    try:
        yield stub
    finally:
        server.should_exit = True
        thread.join(10)
