"""Runs alembic on a database; imported only when there is something to run."""

from __future__ import annotations

from collections.abc import Sequence

import asyncpg
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from ragbase.storage.migrations.scripts import MIGRATIONS

__all__ = ["revise"]


async def revise(dsn: str, steps: Sequence[tuple[str, str]]) -> None:
    """Run ``steps`` - (``upgrade`` or ``downgrade``, target) - in one transaction."""
    engine = create_async_engine(
        "postgresql+asyncpg://",
        async_creator=lambda: asyncpg.connect(dsn, timeout=30),
        poolclass=NullPool,
    )
    try:
        async with engine.begin() as connection:
            await connection.run_sync(_apply, steps)
    finally:
        await engine.dispose()


def _apply(connection: Connection, steps: Sequence[tuple[str, str]]) -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    for action, target in steps:
        getattr(command, action)(config, target)
