"""Hears of queued and cancelled jobs at once, by LISTEN on a connection of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import asyncpg

from ragbase.errors import RagBaseError
from ragbase.storage.connect import single_connection
from ragbase.storage.jobs import CHANNEL
from ragbase.telemetry.logs import get_logger

__all__ = ["JobSignals"]

_AGAIN_S = 1.0
_AGAIN_LONGEST_S = 30.0
_CHECK_S = 30.0
"""A connection that died without a word is noticed by asking it something."""


class JobSignals:
    """Calls ``on_message`` for each notification, reconnecting for as long as it runs.

    What is sent while there is no connection is lost: its listener polls as well, and
    ``on_message`` is called with ``queued`` after each (re)connection.
    """

    def __init__(self, dsn: str, on_message: Callable[[str], None]) -> None:
        self._dsn = dsn
        self._on_message = on_message
        self._log = get_logger("ragbase.jobs")

    async def run(self) -> None:
        """Listen until cancelled."""
        pause = _AGAIN_S
        while True:
            try:
                async with single_connection(
                    self._dsn, wait_s=0, settings={"application_name": "ragbase-jobs"}
                ) as connection:
                    pause = _AGAIN_S
                    await self._listen(connection)
            except RagBaseError as error:
                self._log.info("job_signals_away", code=error.code, again_s=pause)
            await asyncio.sleep(pause)
            pause = min(2 * pause, _AGAIN_LONGEST_S)

    async def _listen(self, connection: asyncpg.Connection) -> None:
        """Returns when the connection is lost."""
        lost = asyncio.Event()
        connection.add_termination_listener(lambda _: lost.set())
        await connection.add_listener(CHANNEL, self._hear)
        self._on_message("queued")
        while not lost.is_set():
            try:
                async with asyncio.timeout(_CHECK_S):
                    await lost.wait()
            except TimeoutError:
                await connection.execute("SELECT 1", timeout=_CHECK_S)

    def _hear(self, _connection: object, _pid: int, _channel: str, payload: object) -> None:
        self._on_message(str(payload))
