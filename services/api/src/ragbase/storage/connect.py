"""One connection outside the pool, with patience for a server that is still starting."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import asyncpg

from ragbase.errors import ConfigurationError, DatabaseUnavailableError
from ragbase.storage.faults import converted_faults

__all__ = ["single_connection"]

_CONNECT_TIMEOUT_S = 10.0
_FIRST_WAIT_S = 0.1
_LONGEST_WAIT_S = 3.0


@asynccontextmanager
async def single_connection(
    dsn: str, *, wait_s: float, settings: Mapping[str, str] | None = None
) -> AsyncIterator[asyncpg.Connection]:
    """A connection of its own, closed at the end; tries again for ``wait_s`` seconds.

    Raises `DatabaseUnavailableError` when the server stays away and, at once, what waiting
    cannot mend: `ConfigurationError`.
    """
    connection = await _patiently(dsn, wait_s, settings)
    with converted_faults():
        try:
            yield connection
        finally:
            await connection.close()


async def _patiently(
    dsn: str, wait_s: float, settings: Mapping[str, str] | None
) -> asyncpg.Connection:
    deadline = time.monotonic() + wait_s
    pause = _FIRST_WAIT_S
    while True:
        try:
            return await _connect(dsn, settings)
        except DatabaseUnavailableError:
            if time.monotonic() + pause > deadline:
                raise
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LONGEST_WAIT_S)


async def _connect(dsn: str, settings: Mapping[str, str] | None) -> asyncpg.Connection:
    with converted_faults():
        try:
            return await asyncpg.connect(
                dsn, timeout=_CONNECT_TIMEOUT_S, server_settings=dict(settings or {})
            )
        except ValueError as error:
            raise ConfigurationError(f"DATABASE_URL is not valid: {error}") from error
