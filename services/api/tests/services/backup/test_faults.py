"""Whatever goes wrong is said clearly, and nothing half is left: no backup, no rows."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import uuid
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from ragbase.errors import (
    BackupError,
    ConfigurationError,
    ConflictError,
    DatabaseUnavailableError,
    RagBaseError,
)
from ragbase.services.backup.create import back_up
from ragbase.services.backup.manifest import Manifest, read_manifest, write_manifest
from ragbase.services.backup.place import Place
from ragbase.services.backup.shelf import Shelf
from ragbase.storage.migrations import migrate
from ragbase.storage.pool import Database

Broken = Callable[[str, str], Path]


@pytest.fixture
async def stored(world: Any) -> Any:
    """The world with a few documents."""
    for number in range(5):
        await world.add(f"Document {number}", f"text of {number}", "and more")
    return world


def has_text(path: Path) -> Callable[[], Awaitable[bool]]:
    """Whether a script has written to ``path``."""

    def read() -> bool:
        return path.exists() and path.read_text() != ""

    return partial(asyncio.to_thread, read)


def left(shelf: Shelf) -> list[str]:
    """What is in the folder but the lock."""
    return sorted(path.name for path in shelf.root.iterdir() if path.name != ".lock")


async def is_empty(url: str, rows_of: Any) -> bool:
    return not await rows_of(
        url,
        "SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace "
        "WHERE nspname = 'public' AND NOT EXISTS "
        "(SELECT FROM pg_depend d WHERE d.objid = c.oid AND deptype IN ('e', 'i'))",
    )


def rewrite(path: Path, **changes: Any) -> None:
    """Another manifest, whose own digest is right."""
    manifest = read_manifest(path)
    (path / "manifest.json").unlink()
    write_manifest(path, Manifest.model_validate({**manifest.model_dump(), **changes}))


# Taking one


@pytest.mark.parametrize(
    ("script", "said"),
    [
        pytest.param('exec $real "$@" > /dev/full', "ran out of room", id="disk full"),
        pytest.param('ulimit -f 2; exec $real "$@"', "ran out of room", id="file size limit"),
        pytest.param("kill -9 $$", r"ended by signal 9 \(SIGKILL\)", id="killed"),
        pytest.param("echo 'pg_dump: error: no luck' >&2; exit 1", "no luck", id="its own error"),
    ],
)
async def test_a_dump_that_breaks_leaves_nothing(
    stored: Any, take: Any, shelf: Shelf, broken_program: Broken, script: str, said: str
) -> None:
    await take()
    before = left(shelf)
    async with stored.database.acquire() as connection:
        await connection.execute(
            "INSERT INTO documents (title, content) "
            "SELECT 'big', string_agg(gen_random_uuid()::text, '') FROM generate_series(1, 20000)"
        )
    with pytest.raises(BackupError, match=said):
        await take(broken_program("pg_dump", script))
    assert left(shelf) == before


async def test_a_server_that_ends_the_session_midway(
    stored: Any, take: Any, shelf: Shelf, database_url: str, rows_of: Any, until: Any
) -> None:
    """A lock holds pg_dump and the count; then the server closes both."""
    async with stored.database.transaction() as connection:
        await connection.execute("LOCK TABLE chunks IN ACCESS EXCLUSIVE MODE")
        backup = asyncio.create_task(take())
        waiting = (
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'ragbase-backup' "
            "AND datname = current_database() AND wait_event_type = 'Lock'"
        )

        async def both_wait() -> bool:
            return await rows_of(database_url, waiting) == [(2,)]

        await until(both_wait)
        await rows_of(
            database_url,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'ragbase-backup' AND datname = current_database()",
        )
        with pytest.raises((BackupError, DatabaseUnavailableError)) as raised:
            await backup
    assert any(word in str(raised.value) for word in ("terminat", "lost", "not available"))
    assert left(shelf) == []


async def test_a_table_that_stays_locked(stored: Any, take: Any, shelf: Shelf) -> None:
    async with stored.database.transaction() as connection:
        await connection.execute("LOCK TABLE chunks IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(BackupError, match=r"stays locked.*Try again"):
            await take(lock_wait_s=0.1)
    assert left(shelf) == []


async def test_cancelling_leaves_nothing_and_ends_pg_dump(
    stored: Any, take: Any, shelf: Shelf, broken_program: Broken, tmp_path: Path, until: Any
) -> None:
    marker = tmp_path / "pid"
    slow = broken_program("pg_dump", f"echo $$ > {marker}; exec sleep 60")
    backup = asyncio.create_task(take(slow))
    await until(has_text(marker))
    backup.cancel()
    with pytest.raises(asyncio.CancelledError):
        await backup
    assert left(shelf) == []
    with pytest.raises(ProcessLookupError):
        os.kill(int(marker.read_text()), signal.SIGTERM)


async def test_two_backups_into_one_folder_at_once(
    stored: Any, take: Any, shelf: Shelf, broken_program: Broken, tmp_path: Path, until: Any
) -> None:
    marker, go = tmp_path / "begun", tmp_path / "go"
    os.mkfifo(go)
    slow = broken_program("pg_dump", f'echo begun > {marker}; read _ < {go}; exec $real "$@"')
    first = asyncio.create_task(take(slow))
    await until(has_text(marker))
    with pytest.raises(ConflictError, match="Another backup is being written"):
        await take()
    await asyncio.to_thread(go.write_text, "\n")
    made = await first
    assert left(shelf) == [made.path.name]


async def test_what_a_killed_run_left_does_not_count_and_goes_with_the_next(
    stored: Any, take: Any, shelf: Shelf
) -> None:
    entry = await take()
    half = entry.path.with_name("20200101T000000Z.partial")
    shutil.copytree(entry.path, half)
    assert [each.path for each in shelf.entries()] == [entry.path]
    await take()
    assert not half.exists()


async def test_a_database_without_ragbase(
    empty_database_url: str, shelf: Shelf, programs: Path
) -> None:
    with pytest.raises(BackupError, match="nothing to back up"):
        await back_up(Place(empty_database_url, None, programs), shelf)
    assert not shelf.root.exists()


async def test_programs_older_than_the_server(
    stored: Any, take: Any, broken_program: Broken
) -> None:
    folder = broken_program("pg_dump", "")
    (folder / "pg_dump").write_text("#!/bin/sh\necho 'pg_dump (PostgreSQL) 9.6.24'\n")
    with pytest.raises(ConfigurationError, match=r"version 9\.6, but the server has Postgres \d+"):
        await take(folder)


async def test_no_programs_at_all(stored: Any, take: Any, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"no pg_dump in RAGBASE_PG_BIN.*client programs"):
        await take(tmp_path)


async def test_a_folder_that_cannot_be_written(
    stored: Any, database_url: str, tmp_path: Path, programs: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(BackupError, match="Cannot make the folder"):
        await back_up(Place(database_url, None, programs), Shelf(tmp_path / "file" / "backups"))


# Restoring one


def truncate(path: Path) -> None:
    dump = path / "database.dump"
    dump.write_bytes(dump.read_bytes()[:-100])


def flip(path: Path) -> None:
    dump = path / "database.dump"
    content = bytearray(dump.read_bytes())
    content[len(content) // 2] ^= 1
    dump.write_bytes(content)


def edit(path: Path) -> None:
    manifest = path / "manifest.json"
    values = json.loads(manifest.read_text())
    values["tables"]["public.chunks"]["rows"] += 1
    manifest.write_text(json.dumps(values))


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (truncate, "has .* bytes, the manifest says"),
        (flip, "does not have the SHA-256"),
        (edit, "was changed after the backup was made"),
        (lambda path: (path / "manifest.json").unlink(), "no backup: it has no manifest"),
        (lambda path: (path / "database.dump").unlink(), "is missing"),
        (lambda path: (path / "manifest.json").write_text("{"), "Cannot read"),
        (lambda path: rewrite(path, version="99.1.0"), "RagBase 99.1.0.*newer"),
        (lambda path: rewrite(path, revisions=("core_9999",)), "schema core_9999"),
        (lambda path: rewrite(path, format=2), "cannot read"),
        (lambda path: rewrite(path, pg_dump="99.0"), "made by pg_dump 99.0"),
    ],
)
async def test_a_backup_that_is_damaged_or_too_new(
    stored: Any, target: str, take: Any, give: Any, rows_of: Any, damage: Any, said: str
) -> None:
    entry = await take()
    damage(entry.path)
    with pytest.raises(RagBaseError, match=said):
        await give(entry.path, target)
    assert await is_empty(target, rows_of)


async def test_verification_takes_away_what_differs(
    stored: Any, target: str, take: Any, give: Any, rows_of: Any
) -> None:
    entry = await take()
    tables = {name: record.model_dump() for name, record in entry.manifest.tables.items()}
    tables["public.chunks"]["checksum"] = "7"
    rewrite(entry.path, tables=tables)
    with pytest.raises(BackupError, match=r"differs from the manifest in public\.chunks"):
        await give(entry.path, target)
    assert await is_empty(target, rows_of)


async def at_home_only(world: Any, elsewhere: str) -> None:
    """Add an index, built after all rows are in, that does ``elsewhere`` in another database."""
    async with world.database.acquire() as connection:
        name = await connection.fetchval("SELECT current_database()")
        await connection.execute(
            f"""
            CREATE FUNCTION at_home(text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$
            BEGIN
                IF current_database() <> '{name}' THEN {elsewhere}; END IF;
                RETURN $1;
            END $$;
            CREATE INDEX ON documents (at_home(title));
            """
        )


@pytest.mark.parametrize("server", [16, 18])
async def test_an_error_in_the_middle_leaves_the_database_empty(
    stored: Any,
    target: str,
    take: Any,
    give: Any,
    rows_of: Any,
    server: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await at_home_only(stored, "RAISE 'not at home'")
    entry = await take()

    async def major(_: object) -> int:
        return server

    monkeypatch.setattr("ragbase.services.backup.restore.server_major", major)
    with pytest.raises(BackupError, match="not at home"):
        await give(entry.path, target)
    assert await is_empty(target, rows_of)


async def test_a_reader_that_dies_midway_commits_nothing(
    stored: Any,
    target: str,
    take: Any,
    give: Any,
    rows_of: Any,
    broken_program: Broken,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By way of psql, which would commit at the end of its input."""
    entry = await take()

    async def sixteen(_: object) -> int:
        return 16

    monkeypatch.setattr("ragbase.services.backup.restore.server_major", sixteen)
    cut = broken_program(
        "pg_restore",
        'case "$*" in *--list*) exec $real "$@";; esac; $real "$@" | head -c 6000; exit 1',
    )
    with pytest.raises(BackupError, match="pg_restore failed"):
        await give(entry.path, target, cut)
    assert await is_empty(target, rows_of)


async def test_a_session_that_is_ended_midway(
    stored: Any, target: str, take: Any, give: Any, rows_of: Any, until: Any
) -> None:
    await at_home_only(stored, "PERFORM pg_sleep(60)")
    entry = await take()
    restoring = asyncio.create_task(give(entry.path, target))
    ended = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'CREATE INDEX%' "
        "AND datname = current_database() AND state = 'active' AND wait_event = 'PgSleep'"
    )
    await until(lambda: rows_of(target, ended))
    with pytest.raises(BackupError, match="terminat"):
        await restoring
    assert await is_empty(target, rows_of)


async def test_cancelling_a_restore_leaves_the_database_empty(
    stored: Any, target: str, take: Any, give: Any, rows_of: Any, until: Any
) -> None:
    await at_home_only(stored, "PERFORM pg_sleep(60)")
    entry = await take()
    restoring = asyncio.create_task(give(entry.path, target))
    busy = (
        "SELECT pid FROM pg_stat_activity WHERE query LIKE 'CREATE INDEX%' "
        "AND datname = current_database() AND state = 'active'"
    )
    await until(lambda: rows_of(target, busy + " AND wait_event = 'PgSleep'"))
    restoring.cancel()
    with pytest.raises(asyncio.CancelledError):
        await restoring

    async def idle() -> bool:
        return not await rows_of(target, busy)

    await until(idle)  # pg_restore asked the server to stop
    assert await is_empty(target, rows_of)


async def test_a_missing_extension_is_named(
    stored: Any, target: str, take: Any, give: Any, rows_of: Any
) -> None:
    entry = await take()
    rewrite(entry.path, extensions={"vector": "0.8.0", "pg_search": "0.24.0"})
    with pytest.raises(ConfigurationError, match="extension pg_search"):
        await give(entry.path, target)
    assert await is_empty(target, rows_of)


async def test_a_role_that_may_not_set_up_the_extension(
    stored: Any, target: str, take: Any, give: Any, rows_of: Any
) -> None:
    """pgvector may be marked as trusted or not; where an administrator made it, any role will do."""
    entry = await take()
    role = f"app_{uuid.uuid4().hex[:8]}"
    database = urlsplit(target).path.removeprefix("/")
    await rows_of(target, f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
    await rows_of(target, f"ALTER DATABASE {database} OWNER TO {role}")
    parts = urlsplit(target)
    own = parts._replace(netloc=f"{role}:x@{parts.netloc.rpartition('@')[2]}").geturl()
    trusted = "SELECT trusted FROM pg_available_extension_versions WHERE name = 'vector' LIMIT 1"
    try:
        if await rows_of(target, trusted) == [(False,)]:
            with pytest.raises(
                BackupError, match=r"administrator to run `CREATE EXTENSION vector;`"
            ):
                await give(entry.path, own)
            await rows_of(target, "CREATE EXTENSION vector")
        assert (await give(entry.path, own)).verified
    finally:
        await rows_of(target, f"REASSIGN OWNED BY {role} TO CURRENT_USER")
        await rows_of(target, f"DROP OWNED BY {role}")
        await rows_of(target, f"DROP ROLE {role}")


async def test_a_migration_that_fails_says_that_the_rows_are_in(
    stored: Any, target: str, take: Any, give: Any, rows_of: Any
) -> None:
    async def broken() -> Any:
        raise ConfigurationError("The role lacks a right. Grant it.")

    entry = await take()
    with pytest.raises(BackupError, match=r"was restored, but.*lacks a right.*ragbase migrate"):
        await give(entry.path, target, migrate=broken)
    assert await rows_of(target, "SELECT count(*) FROM documents") == [(5,)]


# What is in the way


async def test_a_database_with_documents_is_refused_and_kept(
    stored: Any, database_url: str, take: Any, give: Any, rows_of: Any
) -> None:
    entry = await take()
    with pytest.raises(ConflictError, match=r"not empty: .*documents \(5 rows\)"):
        await give(entry.path, database_url)
    assert await rows_of(database_url, "SELECT count(*) FROM documents") == [(5,)]


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE theirs ()",
        "CREATE VIEW theirs AS SELECT 1",
        "CREATE TYPE theirs AS ENUM ('a')",
        "CREATE DOMAIN theirs AS int",
        "CREATE FUNCTION theirs() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE SEQUENCE theirs",
    ],
)
async def test_whatever_is_in_the_way_is_named(
    stored: Any, target: str, take: Any, give: Any, rows_of: Any, statement: str
) -> None:
    entry = await take()
    await rows_of(target, statement)
    with pytest.raises(ConflictError, match=r"not empty: \w+ \S*theirs"):
        await give(entry.path, target)


async def test_a_ragbase_that_was_never_used_is_not_in_the_way(
    stored: Any, target: str, take: Any, give: Any, rows_of: Any
) -> None:
    await migrate(target, dialect="native")
    entry = await take()
    assert (await give(entry.path, target)).verified
    assert await rows_of(target, "SELECT count(*) FROM documents") == [(5,)]


async def test_one_with_a_collection_or_a_key_is_in_the_way(
    stored: Any, target: str, take: Any, give: Any, rows_of: Any
) -> None:
    await migrate(target, dialect="native")
    await rows_of(target, "INSERT INTO collections (name) VALUES ('mine') RETURNING id")
    entry = await take()
    with pytest.raises(ConflictError, match="not empty"):
        await give(entry.path, target)


async def test_an_api_that_is_connected_is_in_the_way(
    stored: Any, target: str, take: Any, give: Any
) -> None:
    await migrate(target, dialect="native")
    entry = await take()
    async with await Database.open(target, min_size=1):
        with pytest.raises(ConflictError, match="Stop its API"):
            await give(entry.path, target)
    assert (await give(entry.path, target)).verified
