"""From a port of the machine into the node's network."""

from __future__ import annotations

import asyncio
import socket
import threading

__all__ = ["start_relay"]

CHUNK = 64 * 1024


def start_relay(listening: socket.socket, port: int) -> None:
    """Carry each connection of ``listening`` to ``port`` of our loopback, in a thread of its own.

    A socket stays in the network namespace that it was made in: ``listening`` is the machine's,
    what we connect to is the node's.
    """
    thread = threading.Thread(
        target=lambda: asyncio.run(serve(listening, port)), name="relay", daemon=True
    )
    thread.start()


async def serve(listening: socket.socket, port: int) -> None:
    """Accept connections for ever."""

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            writer.close()
            return
        await asyncio.gather(pump(reader, there[1]), pump(there[0], writer))

    server = await asyncio.start_server(carry, sock=listening, limit=CHUNK)
    await server.serve_forever()


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy until the end, or until either side is gone."""
    try:
        while chunk := await reader.read(CHUNK):
            writer.write(chunk)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()
