"""Keeps the gauges of jobs fresh."""

from __future__ import annotations

import asyncio
from typing import get_args

from ragbase.errors import RagBaseError
from ragbase.models.jobs import JobKind, JobState
from ragbase.services.background import end, repeat
from ragbase.storage.jobs_upkeep import JobCount, count_jobs
from ragbase.storage.pool import Database
from ragbase.telemetry import metrics
from ragbase.telemetry.logs import get_logger

__all__ = ["JobGauges", "show"]

_EVERY_S = 15.0


class JobGauges:
    """Counts jobs in the background, so that a scrape costs the database nothing."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._task: asyncio.Task[None] | None = None
        self._log = get_logger("ragbase.jobs")

    def start(self) -> None:
        """Begin; the first count comes at once."""
        self._task = asyncio.create_task(repeat(self.refresh, _EVERY_S, self._failed))

    async def stop(self) -> None:
        """End."""
        await end([self._task] if self._task else [])

    def _failed(self, error: RagBaseError) -> None:
        self._log.info("jobs_not_counted", code=error.code)

    async def refresh(self) -> None:
        """Count now."""
        async with self._database.read() as connection:
            counts = await count_jobs(connection)
        show(counts)


def show(counts: list[JobCount]) -> None:
    """Set every gauge: those of kinds and states without a job to 0."""
    known = {(count.kind, count.state): count for count in counts}
    for kind in get_args(JobKind):
        for state in get_args(JobState):
            found = known.get((kind, state))
            metrics.JOBS.labels(kind, state).set(found.count if found else 0)
        queued = known.get((kind, "queued"))
        metrics.JOB_OLDEST.labels(kind).set(queued.oldest_s if queued else 0)
