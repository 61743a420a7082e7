"""A database with documents, folders for backups, and Postgres' programs, sound and broken."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import pytest_asyncio

from ragbase.embedded.binaries import locate_binaries
from ragbase.services.backup.create import back_up
from ragbase.services.backup.place import Place
from ragbase.services.backup.restore import Restored, restore
from ragbase.services.backup.shelf import Entry, Shelf
from ragbase.storage.migrations import migrate

from ...eventually import eventually

PROGRAMS = locate_binaries().program("pg_dump").parent


@pytest.fixture
def programs() -> Path:
    """The folder of Postgres' programs."""
    return PROGRAMS


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path / "backups")


@pytest.fixture
def broken_program(tmp_path: Path) -> Callable[[str, str], Path]:
    """A folder of programs in which one is a shell script; ``$real`` is the real one."""

    def make(name: str, script: str) -> Path:
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        for real in PROGRAMS.iterdir():
            (folder / real.name).unlink(missing_ok=True)
            (folder / real.name).symlink_to(real)
        (folder / name).unlink()
        (folder / name).write_text(
            f'#!/bin/sh\nreal={PROGRAMS / name}\n[ "$1" = --version ] && exec $real "$1"\n{script}\n'
        )
        (folder / name).chmod(0o755)
        return folder

    return make


Take = Callable[..., Awaitable[Entry]]
Give = Callable[..., Awaitable[Restored]]


@pytest.fixture
def take(database_url: str, shelf: Shelf) -> Take:
    """Takes a backup of this test's database."""

    def run(pg_bin: Path | None = None, **options: Any) -> Awaitable[Entry]:
        return back_up(Place(database_url, pg_bin, PROGRAMS), shelf, **options)

    return run


@pytest.fixture
def give() -> Give:
    """Restores a backup into a database."""

    def run(
        path: Path, url: str, pg_bin: Path | None = None, **options: Any
    ) -> Awaitable[Restored]:
        options.setdefault("migrate", lambda: migrate(url))
        return restore(Place(url, pg_bin, PROGRAMS), path, **options)

    return run


@pytest_asyncio.fixture
async def target(
    new_database: Callable[[str], AbstractAsyncContextManager[str]],
) -> AsyncIterator[str]:
    """URL of an empty database."""
    async with new_database("TEMPLATE template0") as url:
        yield url


@pytest.fixture
def until() -> Callable[[Callable[[], Awaitable[Any]]], Awaitable[None]]:
    """Waits until what is asked for is true; for what another process does."""
    return eventually


@pytest.fixture
def rows_of() -> Callable[[str, str], Awaitable[list[Any]]]:
    """Rows of a statement, over a connection of its own."""

    async def run(url: str, statement: str) -> list[Any]:
        connection = await asyncpg.connect(url)
        try:
            return [tuple(row) for row in await connection.fetch(statement)]
        finally:
            await connection.close()

    return run
