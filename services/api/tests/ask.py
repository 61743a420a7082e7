"""One statement on a database, over a connection of its own."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg

__all__ = ["answer", "ask"]


async def answer(dsn: str, statement: str) -> Any:
    """The single value of a statement."""
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetchval(statement)
    finally:
        await connection.close()


def ask(dsn: str, statement: str) -> Any:
    """As `answer`, where no loop runs."""
    return asyncio.run(answer(dsn, statement))
