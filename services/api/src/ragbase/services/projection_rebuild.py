"""Has the whole graph looked at again, by the job ``project``."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from ragbase.services.jobs_run import JobResult, JobRun
from ragbase.services.projection import note_gone
from ragbase.storage.graph_outbox import (
    count_changes,
    last_change,
    note_everything,
    want_changes,
)
from ragbase.storage.pool import Database

if TYPE_CHECKING:
    from ragbase.graph.bolt_write import BoltWriter

__all__ = ["ProjectionRebuild"]

_LOOK_S: Final = 0.5


class ProjectionRebuild:
    """Notes all that is stored or projected, and waits until the notes are followed.

    Nothing is removed beforehand, so readers of the projection never meet an empty one. Begun again,
    it notes all again, which changes nothing.
    """

    def __init__(self, database: Database, writer: BoltWriter) -> None:
        self._database = database
        self._writer = writer

    async def run(self, run: JobRun) -> JobResult:
        """Task ``project``. Raises `UnavailableError` where the store does not answer."""
        run.progress("note")
        await self._want()
        async with self._database.transaction() as connection:  # with the time that writers have
            await note_everything(connection)
            total = await count_changes(connection)  # before anybody may take them
        async with self._database.acquire() as connection:
            await note_gone(connection, self._writer)
            upto = await last_change(connection)
            left = await count_changes(connection, upto)
            total = max(total, left)
        while left:
            run.progress("project", total - left, total)
            await asyncio.sleep(_LOOK_S)
            async with self._database.read() as connection:
                left = await count_changes(connection, upto)
        return {"looked_at": total}

    async def _want(self) -> None:
        while True:
            async with self._database.transaction() as connection:
                if await want_changes(connection) is not None:
                    return
            await asyncio.sleep(_LOOK_S)
