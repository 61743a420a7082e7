"""A server's start waits for the schema that it was written for."""

from __future__ import annotations

import asyncio
import time
from typing import Final

from ragbase.errors import ConfigurationError
from ragbase.storage.connect import single_connection
from ragbase.storage.migrations.state import SchemaState, check_schema
from ragbase.telemetry.logs import get_logger

__all__ = ["await_schema", "require_current"]

PAUSE_S: Final = 0.5
CONNECT_WAIT_S: Final = 30.0

_log = get_logger("ragbase.start")


async def await_schema(dsn: str, wait_s: float) -> None:
    """Return once waiting no longer helps: the schema is current or newer, or ``wait_s`` are over.

    Over connections of its own: those of a pool that is opened before the first migration would
    never learn the type ``vector``.
    """
    deadline = time.monotonic() + wait_s
    told = False
    while True:
        async with single_connection(dsn, wait_s=CONNECT_WAIT_S) as connection:
            schema = await check_schema(connection)
        if schema.status in ("current", "ahead") or time.monotonic() >= deadline:
            return
        if not told:
            told = True
            _log.info("schema_awaited", status=schema.status, wait_s=wait_s)
        await asyncio.sleep(PAUSE_S)


def require_current(schema: SchemaState) -> None:
    """Raise `ConfigurationError` unless the schema is the one that this version wants."""
    if schema.status == "ahead":
        raise ConfigurationError("A newer RagBase has migrated this database; run that version.")
    if schema.status != "current":
        raise ConfigurationError(
            f"The database schema is {schema.status}. Run `ragbase migrate`, then start again."
        )
