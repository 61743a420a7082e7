"""Keeps the gauge of the projection's lag fresh."""

from __future__ import annotations

import asyncio

from ragbase.errors import RagBaseError
from ragbase.services.background import end, repeat
from ragbase.storage.graph_outbox import count_changes
from ragbase.storage.pool import Database
from ragbase.telemetry import metrics
from ragbase.telemetry.logs import get_logger

__all__ = ["ProjectionGauges"]

_EVERY_S = 15.0


class ProjectionGauges:
    """Counts notes in the background, so that a scrape costs the database nothing."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._task: asyncio.Task[None] | None = None
        self._log = get_logger("ragbase.projection")

    def start(self) -> None:
        """Begin; the first count comes at once."""
        self._task = asyncio.create_task(repeat(self.refresh, _EVERY_S, self._failed))

    async def stop(self) -> None:
        """End."""
        await end([self._task] if self._task else [])

    def _failed(self, error: RagBaseError) -> None:
        self._log.info("projection_lag_not_counted", code=error.code)

    async def refresh(self) -> None:
        """Count now."""
        async with self._database.read() as connection:
            metrics.PROJECTION_LAG.set(await count_changes(connection))
