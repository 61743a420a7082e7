"""The API as a caller meets it: real database, real embedder, every middleware."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from typing import Any

import httpx
import pytest
import pytest_asyncio
import structlog
from fastapi import FastAPI

from ragbase.clients.embedder import Embedder
from ragbase.clients.select import open_embedder
from ragbase.main import create_app
from ragbase.settings import Settings

from ..model_server import Stub, running

OpenApp = Callable[..., Awaitable[tuple[FastAPI, httpx.AsyncClient]]]
Create = Callable[..., Awaitable[dict[str, Any]]]


@pytest_asyncio.fixture(scope="session")
async def embedder() -> AsyncIterator[Embedder]:
    """The default in-process model, loaded once a run."""
    model = await open_embedder(Settings())
    yield model
    await model.aclose()


@pytest.fixture(scope="session")
def _model_server() -> Iterator[Stub]:
    with running(Stub()) as stub:
        yield stub


@pytest.fixture
def model_server(_model_server: Stub) -> Stub:
    """A server with `/rerank`, in its first state."""
    _model_server.reset()
    _model_server.max_batch = 32
    _model_server.model_type = {"reranker": {"id2label": {"0": "LABEL_0"}}}
    return _model_server


@pytest_asyncio.fixture
async def open_app(database_url: str, embedder: Embedder) -> AsyncIterator[OpenApp]:
    """Open an app with these settings; all are closed at the end of the test."""
    async with AsyncExitStack() as stack:

        async def open_one(
            *, embedder: Embedder = embedder, base: str = "http://127.0.0.1", **settings: Any
        ) -> tuple[FastAPI, httpx.AsyncClient]:
            values = {"database_url": database_url, "pool_min": 0, **settings}
            app = create_app(Settings(**values), embedder=embedder)
            await stack.enter_async_context(app.router.lifespan_context(app))
            transport = httpx.ASGITransport(app, raise_app_exceptions=False)
            client = httpx.AsyncClient(transport=transport, base_url=base)
            return app, await stack.enter_async_context(client)

        yield open_one


@pytest_asyncio.fixture
async def api(open_app: OpenApp) -> httpx.AsyncClient:
    """A client of the API with default settings."""
    _, client = await open_app()
    return client


@pytest_asyncio.fixture
async def create(api: httpx.AsyncClient) -> Create:
    """Post a document and return the answer's body."""

    async def post(title: str, content: str, **fields: Any) -> dict[str, Any]:
        body = {"title": title, "content": content, **fields}
        answer = await api.post("/v1/documents", json=body)
        assert answer.status_code in (200, 201), answer.text
        document: dict[str, Any] = answer.json()
        return document

    return post


@pytest.fixture
def logged() -> Iterator[list[dict[str, Any]]]:
    """The log lines of a test, as they are written."""
    with structlog.testing.capture_logs() as lines:
        yield lines  # type: ignore[misc]  # events are dictionaries that can be changed
