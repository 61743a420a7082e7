"""The second API as a caller meets it: real database, real embedder, every middleware."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import httpx
import pytest
import pytest_asyncio
from fastapi import FastAPI

from ragbase.clients.embedder import Embedder
from ragbase.main_localrag import create_localrag_app
from ragbase.settings import Settings

from .stub_models import CHAT, EMBEDDING, RERANKER, StubModels

OpenLocalrag = Callable[..., Awaitable[tuple[FastAPI, httpx.AsyncClient]]]

SERVED = "all-MiniLM-L6-v2"
"""The served model of these tests, by the last part of its name."""


@pytest_asyncio.fixture
async def open_localrag(
    database_url: str, embedder: Embedder, tmp_path: Any
) -> AsyncIterator[OpenLocalrag]:
    """Open the second API with these settings; all are closed at the end of the test."""
    async with AsyncExitStack() as stack:

        async def open_one(
            *,
            embedder: Embedder = embedder,
            gguf: StubModels | None = None,
            base: str = "http://127.0.0.1",
            **settings: Any,
        ) -> tuple[FastAPI, httpx.AsyncClient]:
            values = {
                "database_url": database_url,
                "pool_min": 0,
                "workers": 0,
                "localrag_models_dir": tmp_path / "models",
                **settings,
            }
            app = create_localrag_app(Settings(**values), embedder=embedder, gguf=gguf)
            await stack.enter_async_context(app.router.lifespan_context(app))
            transport = httpx.ASGITransport(app, raise_app_exceptions=False)
            client = httpx.AsyncClient(transport=transport, base_url=base)
            return app, await stack.enter_async_context(client)

        yield open_one


@pytest.fixture
def gguf() -> StubModels:
    """GGUF models: one of each kind."""
    return StubModels()


@pytest_asyncio.fixture
async def local(open_localrag: OpenLocalrag, gguf: StubModels) -> httpx.AsyncClient:
    """A client of the second API with GGUF models of each kind, which the settings name."""
    _, client = await open_localrag(
        gguf=gguf,
        localrag_embedding_model=EMBEDDING,
        localrag_chat_model=CHAT,
        localrag_reranker_model=RERANKER,
    )
    return client


@pytest_asyncio.fixture(scope="session")
async def rag(
    server_url: str, template: str, new_database: Any, embedder: Embedder
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the second API with default settings and no GGUF file; for a whole run, so
    nothing may be stored by it."""
    async with (
        new_database(f"TEMPLATE {template} STRATEGY file_copy") as url,
        AsyncExitStack() as stack,
    ):
        settings = Settings(database_url=url, pool_min=0, workers=0)
        app = create_localrag_app(settings, embedder=embedder, gguf=no_models())
        await stack.enter_async_context(app.router.lifespan_context(app))
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        yield await stack.enter_async_context(
            httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")
        )


@pytest_asyncio.fixture
async def served(open_localrag: OpenLocalrag) -> httpx.AsyncClient:
    """The same with a database of its own, to store in."""
    _, client = await open_localrag(gguf=no_models())
    return client


def no_models() -> StubModels:
    """Empty folders."""
    return StubModels({"chat": [], "embedding": [], "reranker": []})
