"""Work that must happen now and then: folding keyword statistics, refreshing index gauges."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from ragbase.errors import RagBaseError
from ragbase.services.background import end, repeat
from ragbase.storage import collections as store
from ragbase.storage.graph_outbox import count_graph
from ragbase.storage.pool import Connection, Database
from ragbase.telemetry import metrics
from ragbase.telemetry.logs import get_logger

__all__ = ["Upkeep"]

_EVERY_S = 60.0
_POOL_EVERY_S = 5.0


class Upkeep:
    """Runs the dialect's upkeep and refreshes gauges in the background.

    Each replica runs it; the work is idempotent and cheap, so none has to be the leader.
    """

    def __init__(
        self, database: Database, maintain: Callable[[Connection], Awaitable[None]]
    ) -> None:
        self._database = database
        self._maintain = maintain
        self._tasks: list[asyncio.Task[None]] = []
        self._log = get_logger("ragbase.upkeep")

    def start(self) -> None:
        """Begin; the first round comes at once."""
        self._tasks = [
            asyncio.create_task(repeat(self._round, _EVERY_S, self._failed)),
            asyncio.create_task(repeat(self._pool, _POOL_EVERY_S, self._failed)),
        ]

    async def stop(self) -> None:
        """End after the step under way."""
        await end(self._tasks)

    def _failed(self, error: RagBaseError) -> None:
        self._log.warning("upkeep_failed", code=error.code, reason=error.message)

    async def _round(self) -> None:
        async with self._database.transaction() as connection:
            await self._maintain(connection)
        async with self._database.read() as connection:
            counts = (await store.count_contents(connection)).values()
            entities = (await count_graph(connection)).entities
        metrics.INDEX_DOCUMENTS.set(sum(count.documents for count in counts))
        metrics.INDEX_CHUNKS.set(sum(count.chunks for count in counts))
        metrics.INDEX_ENTITIES.set(entities)

    async def _pool(self) -> None:
        metrics.POOL_IN_USE.set(self._database.in_use)
