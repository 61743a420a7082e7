"""Reading files in processes of their own."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest_asyncio

from ragbase.ingest.parse.launch import ForkServer
from ragbase.ingest.parse.parsed import ParsedFile
from ragbase.ingest.parse.parser import FileParser, ParseLimits

Read = Callable[..., Coroutine[Any, Any, ParsedFile]]


@pytest_asyncio.fixture(scope="session")
async def processes() -> AsyncIterator[ForkServer]:
    """One server that forks for all tests."""
    server = ForkServer()
    yield server
    await server.aclose()


@pytest_asyncio.fixture
async def read(processes: ForkServer) -> Read:
    """Reads a file within limits."""

    async def read(
        data: bytes,
        name: str,
        media_type: str | None = None,
        *,
        text_chars: int = 5_000_000,
        timeout_s: float = 60.0,
        memory_bytes: int = 1024**3,
    ) -> ParsedFile:
        limits = ParseLimits(text_chars, timeout_s, memory_bytes)
        parser = FileParser(limits, processes)
        _, parsed = await parser.parse(io.BytesIO(data), len(data), name, media_type)
        return parsed

    return read
