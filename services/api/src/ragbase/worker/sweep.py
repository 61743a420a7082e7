"""What any worker does for all: takes jobs from those that died, and removes what nobody needs."""

from __future__ import annotations

import asyncio
import random
import time

from ragbase.storage.graph_outbox import tidy_changes
from ragbase.storage.jobs_claim import requeue_lost
from ragbase.storage.jobs_upkeep import expire_jobs
from ragbase.storage.pool import Database
from ragbase.telemetry.logs import get_logger
from ragbase.telemetry.metrics import count_ingested

__all__ = ["Sweep"]

_EXPIRE_EVERY_S = 300.0
_log = get_logger("ragbase.worker")


class Sweep:
    """Rounds of upkeep. Idempotent, so that every worker may do them."""

    def __init__(self, database: Database, *, every_s: float, kept_s: float) -> None:
        self._database = database
        self._every_s = every_s
        self._kept_s = kept_s
        self._expire_at = time.monotonic()

    async def forever(self) -> None:
        """A round now, then one each ``every_s``, not in step with other workers."""
        while True:
            try:
                await self.round()
            except Exception as error:  # noqa: BLE001 - the next round may do better
                _log.warning("job_sweep_failed", reason=type(error).__name__)
            await asyncio.sleep(self._every_s * random.uniform(0.8, 1.2))  # noqa: S311 - no secret

    async def round(self) -> None:
        """Requeue or fail jobs whose lease ran out; now and then remove old jobs and notes."""
        async with self._database.acquire() as connection:
            lost = await requeue_lost(connection)
        for kind, state in lost:
            _log.warning("job_lost_its_worker", kind=kind, state=state)
            if (kind, state) == ("ingest", "failed"):
                count_ingested("failed")
        if time.monotonic() >= self._expire_at:
            async with self._database.acquire() as connection:
                more = await expire_jobs(connection, kept_s=self._kept_s)
            async with self._database.transaction() as connection:
                await tidy_changes(connection)
            self._expire_at = time.monotonic() + (0 if more else _EXPIRE_EVERY_S)
