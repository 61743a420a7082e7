"""What a projection withstands, whatever the server is; over Bolt: `tests/bolt`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import cast

import asyncpg
import pytest

from ragbase.errors import UnavailableError, UpstreamError
from ragbase.graph.bolt_write import Update
from ragbase.services import projection
from ragbase.services.jobs_run import JobRun
from ragbase.services.projection_rebuild import ProjectionRebuild
from ragbase.storage import graph_outbox
from ragbase.storage.pool import Connection, Database

from ..graph_rows import add_document, entity_ids
from ..memory_projection import MemoryWriter, mended, projecting


async def test_a_projection_that_outlived_its_database_is_taken_over_at_once(
    db: Database, database_url: str, connection: Connection
) -> None:
    """Postgres restored or made anew counts its writers from where it was; the store has seen more."""
    await add_document(connection, ("One.", ["A", "B"], [("A", "B")]))
    writer = MemoryWriter()
    writer.used = 1_000
    async with projecting(database_url, writer):
        assert (await mended(db, writer)).compared == 3
    assert writer.claims == 1
    assert writer.used == 1_001


async def test_a_batch_that_is_too_much_is_tried_in_parts(
    db: Database, database_url: str, connection: Connection
) -> None:
    """One that takes longer than its time, or more than the server's memory, is no refusal."""
    names = [f"Name {number}" for number in range(40)]
    await add_document(connection, ("One.", names, []))
    writer = MemoryWriter()

    def slow(updates: Sequence[Update]) -> None:
        if sum(len(update.ids) for update in updates) > 10:
            raise UnavailableError("too slow", code="graph_store_unavailable")

    writer.before = slow
    async with projecting(database_url, writer):
        assert (await mended(db, writer)).compared == 40


async def test_a_refused_note_takes_no_other_with_it(
    db: Database, database_url: str, connection: Connection
) -> None:
    """Ids of notes are given out before their transactions end: an older one may come to light
    between the refusal and its note's removal."""
    await add_document(connection, ("One.", ["A", "B"], []))
    ids = await entity_ids(connection)
    writer = MemoryWriter()
    async with projecting(database_url, writer):
        await mended(db, writer)
        late = await asyncpg.connect(database_url)
        try:
            ended = late.transaction()
            await ended.start()
            await late.execute("UPDATE entities SET description = 'late' WHERE id = $1", ids["a"])
            writer_apply = writer.apply

            async def apply(updates: Sequence[Update]) -> None:
                if not updates:  # between the refusal and the removal
                    await ended.commit()
                elif any(ids["b"] in update.ids for update in updates):
                    raise UpstreamError("no", code="graph_store_refused")
                await writer_apply(updates)

            writer.apply = apply  # type: ignore[method-assign]
            await connection.execute(
                "UPDATE entities SET description = description WHERE id = $1", ids["b"]
            )
            await mended(db, writer)
        finally:
            await late.close()
    assert writer.stored_nodes["base"][ids["a"]]["description"] == "late"


@pytest.mark.parametrize("lost", ["all", "one"])
async def test_a_store_that_lost_something_is_mended_while_nothing_is_written(
    db: Database,
    database_url: str,
    connection: Connection,
    monkeypatch: pytest.MonkeyPatch,
    lost: str,
) -> None:
    """A server that is soon back, from a snapshot or with nothing, breaks no connection in use."""
    monkeypatch.setattr(projection, "CHECK_S", 0.1)
    monkeypatch.setattr(projection, "FOLLOW_S", 0.1)
    await add_document(connection, ("One.", ["A", "B"], [("A", "B")]))
    writer = MemoryWriter()
    async with projecting(database_url, writer):
        await mended(db, writer)
        if lost == "all":
            writer.clear()
        else:
            writer.stored_edges["base"].clear()
        assert (await mended(db, writer)).compared == 3


async def test_what_the_store_refuses_is_not_mended_for_ever(
    db: Database, database_url: str, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(projection, "CHECK_S", 0.02)
    await add_document(connection, ("One.", ["A", "B"], []))
    ids = await entity_ids(connection)
    writer = MemoryWriter()
    refused = 0

    def refuse(updates: Sequence[Update]) -> None:
        nonlocal refused
        if any(ids["b"] in update.ids for update in updates):
            refused += any(len(update.ids) == 1 for update in updates)
            raise UpstreamError("no", code="graph_store_refused")

    writer.before = refuse
    async with projecting(database_url, writer):
        for _ in range(40):
            await connection.execute("SELECT pg_sleep(0.05)")
    assert [*writer.stored_nodes["base"]] == [ids["a"]]
    assert 1 <= refused <= 4


class Progress:
    """Of a job that nobody watches."""

    def progress(self, *_: object) -> None:
        """Not kept."""


async def test_a_rebuild_has_the_time_of_writers(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Readers' time is too short to note a graph of millions."""
    monkeypatch.setattr(graph_outbox, "_EVERYTHING", "SELECT pg_sleep(0.5)")
    async with await Database.open(
        database_url, min_size=0, max_size=2, statement_timeout_s=0.2, write_timeout_s=10
    ) as db:
        done = await ProjectionRebuild(db, MemoryWriter()).run(cast("JobRun", Progress()))
    assert done == {"looked_at": 0}


async def test_a_store_is_whole_although_writing_never_ends(
    db: Database, database_url: str, connection: Connection
) -> None:
    """What was there at the beginning is; what came since is lag."""
    await add_document(connection, ("One.", ["A", "B"], [("A", "B")]))
    writer = MemoryWriter()
    writer_apply = writer.apply

    async def apply(updates: Sequence[Update]) -> None:
        await connection.execute("UPDATE entities SET description = description")
        await writer_apply(updates)

    writer.apply = apply  # type: ignore[method-assign]
    async with projecting(database_url, writer), asyncio.timeout(10):
        while (await writer.mark()).epoch is None:  # noqa: ASYNC110 - told by nobody
            await asyncio.sleep(0.02)
