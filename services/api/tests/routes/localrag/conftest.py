"""The second API as a caller meets it: real database, real embedder, every middleware."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import httpx
import pytest_asyncio
from fastapi import FastAPI

from ragbase.clients.embedder import Embedder
from ragbase.main_localrag import create_localrag_app
from ragbase.settings import Settings

OpenLocalrag = Callable[..., Awaitable[tuple[FastAPI, httpx.AsyncClient]]]
Post = Callable[..., Awaitable[httpx.Response]]

SERVED = "all-MiniLM-L6-v2"
"""The served model of these tests, by the last part of its name."""


@pytest_asyncio.fixture
async def open_localrag(
    database_url: str, embedder: Embedder, tmp_path: Any
) -> AsyncIterator[OpenLocalrag]:
    """Open the second API with these settings; all are closed at the end of the test."""
    async with AsyncExitStack() as stack:

        async def open_one(
            *, embedder: Embedder = embedder, base: str = "http://127.0.0.1", **settings: Any
        ) -> tuple[FastAPI, httpx.AsyncClient]:
            values = {
                "database_url": database_url,
                "pool_min": 0,
                "localrag_models_dir": tmp_path / "models",
                **settings,
            }
            app = create_localrag_app(Settings(**values), embedder=embedder)
            await stack.enter_async_context(app.router.lifespan_context(app))
            transport = httpx.ASGITransport(app, raise_app_exceptions=False)
            client = httpx.AsyncClient(transport=transport, base_url=base)
            return app, await stack.enter_async_context(client)

        yield open_one


@pytest_asyncio.fixture
async def rag(open_localrag: OpenLocalrag) -> httpx.AsyncClient:
    """A client of the second API with default settings."""
    _, client = await open_localrag()
    return client
