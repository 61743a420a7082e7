"""A graph in Postgres and its projection, and whether they are equal."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from ragbase.graph.bolt_write import BoltWriter
from ragbase.services.projection import Projector
from ragbase.services.projection_check import Drift, find_drift
from ragbase.storage.graph_outbox import count_changes, read_epoch
from ragbase.storage.pool import Database

__all__ = ["Projected"]


class Projected:
    """``projecting`` runs the worker; ``settled`` waits until it has nothing to do."""

    def __init__(self, database: Database, dsn: str, writer: BoltWriter) -> None:
        self.database = database
        self.dsn = dsn
        self.writer = writer

    @asynccontextmanager
    async def projecting(self, batch: int = 500) -> AsyncIterator[Projector]:
        """With a worker, ended at the end."""
        projector = Projector(self.dsn, self.writer, batch=batch, idle_s=0.02)
        projector.start()
        try:
            yield projector
        finally:
            await projector.stop()

    async def settled(self, within_s: float = 120.0) -> None:
        """Until the projection is whole and no note waits."""
        deadline = time.monotonic() + within_s
        while not await self._is_settled():
            if time.monotonic() > deadline:
                async with self.database.read() as connection:
                    waiting = await count_changes(connection)
                pytest.fail(f"the projection does not come to rest; {waiting} notes wait")
            await asyncio.sleep(0.05)

    async def _is_settled(self) -> bool:
        async with self.database.read() as connection:
            if await count_changes(connection):
                return False
            epoch = await read_epoch(connection)
        return epoch is not None and (await self.writer.mark()).epoch == str(epoch)

    async def mended(self, within_s: float = 60.0) -> None:
        """Until the two are equal."""
        deadline = time.monotonic() + within_s
        while not (drift := await self.drift()).equal:
            assert time.monotonic() < deadline, drift.shown
            await asyncio.sleep(0.1)

    async def project(self) -> None:
        """Once, until it has settled."""
        async with self.projecting():
            await self.settled()

    async def drift(self) -> Drift:
        """How the two differ."""
        async with self.database.read() as connection:
            return await find_drift(connection, self.writer)
