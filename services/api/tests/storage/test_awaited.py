"""A server that is started beside the migration waits for it."""

from __future__ import annotations

import asyncio
import time

import pytest

from ragbase.errors import ConfigurationError
from ragbase.storage.connect import single_connection
from ragbase.storage.migrations import check_schema, migrate
from ragbase.storage.migrations.awaited import await_schema, require_current


async def status(url: str) -> str:
    async with single_connection(url, wait_s=10) as connection:
        return (await check_schema(connection)).status


async def test_it_returns_once_the_schema_is_there(empty_database_url: str) -> None:
    waiting = asyncio.create_task(await_schema(empty_database_url, 120))
    await asyncio.sleep(0.2)
    assert not waiting.done()
    await migrate(empty_database_url)
    await asyncio.wait_for(waiting, 20)
    assert await status(empty_database_url) == "current"


async def test_it_does_not_wait_for_ever(empty_database_url: str) -> None:
    started = time.monotonic()
    await await_schema(empty_database_url, 0.3)
    assert time.monotonic() - started < 30
    assert await status(empty_database_url) == "empty"


async def test_a_schema_that_is_not_current_is_told_with_what_to_do(
    empty_database_url: str,
) -> None:
    async with single_connection(empty_database_url, wait_s=10) as connection:
        schema = await check_schema(connection)
    with pytest.raises(ConfigurationError, match="ragbase migrate"):
        require_current(schema)
