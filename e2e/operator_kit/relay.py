"""A way to the API server that can be cut silently: what is connected stays so, and hears nothing."""

from __future__ import annotations

import asyncio
from contextlib import suppress

__all__ = ["Relay"]

_CHUNK = 65_536


class Relay:
    """Relays TCP from a free port of the loopback; TLS goes through as it is."""

    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self.accepted = 0
        """Connections so far."""

    async def __aenter__(self) -> Relay:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)
        for writer in self._writers:
            writer.close()

    @property
    def port(self) -> int:
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    def cut(self) -> int:
        """From now on nothing passes over what is connected, and nobody is told; how many those
        are. New connections work."""
        count = len(self._open)
        for task in self._open:
            task.cancel()
        self._open.clear()
        return count

    async def _accept(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        self.accepted += 1
        far, forth = await asyncio.open_connection("127.0.0.1", self._target_port)
        self._writers |= {back, forth}
        for reader, writer in ((near, forth), (far, back)):
            task = asyncio.create_task(_pump(reader, writer))
            self._open.add(task)
            task.add_done_callback(self._open.discard)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Until one side ends; then the other is told. Cancelled, it tells nobody."""
    with suppress(ConnectionError):
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
    writer.close()
