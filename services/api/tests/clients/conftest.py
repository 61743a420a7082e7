"""The stub model server of `model_server`, and a bare socket server for faults below HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from hypothesis import settings

from ragbase.clients.retry import RetryPolicy

from ..model_server import Fault, Stub, running

settings.register_profile("steady", deadline=None)  # a busy machine is no fault of the code
settings.load_profile("steady")


@pytest.fixture(scope="session")
def _server() -> Iterator[Stub]:
    with running(Stub()) as stub:
        yield stub


@pytest.fixture
def stub(_server: Stub) -> Stub:
    """The server in its first state."""
    _server.reset()
    return _server


@pytest.fixture
def fault() -> type[Fault]:
    """Class of scripted faults."""
    return Fault


@pytest.fixture
def quick() -> RetryPolicy:
    """The usual attempts with waits too short to notice."""
    return RetryPolicy(budget_s=20.0, first_wait_s=0.001, longest_wait_s=0.01)


Handler = Callable[[bytes, asyncio.StreamReader, asyncio.StreamWriter], Any]


@pytest.fixture
def wire() -> Callable[[Handler], Any]:
    """``async with wire(handler) as url``: a bare socket server for faults below HTTP.

    ``handler`` gets the head of each request and the streams, and may do anything.
    """

    @asynccontextmanager
    async def serve(handler: Handler) -> AsyncIterator[str]:
        at_work: set[asyncio.Task[None]] = set()

        async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                while True:
                    head = await reader.readuntil(b"\r\n\r\n")
                    await handler(head, reader, writer)
                    await writer.drain()
            except (asyncio.IncompleteReadError, ConnectionError):
                pass  # the client or the handler has closed
            finally:
                writer.close()
                with suppress(ConnectionError):
                    await writer.wait_closed()

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            at_work.add(asyncio.create_task(talk(reader, writer)))

        server = await asyncio.start_server(connected, "127.0.0.1", 0, limit=2**20)
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()
            for task in at_work:
                task.cancel()
            await asyncio.gather(*at_work, return_exceptions=True)

    return serve
