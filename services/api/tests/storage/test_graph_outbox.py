"""What changed is noted while a projection is wanted, and never otherwise."""

from __future__ import annotations

import asyncio

import pytest

from ragbase.errors import DatabaseUnavailableError
from ragbase.models.extraction import EntityFact
from ragbase.storage import graph_outbox as outbox
from ragbase.storage.documents import delete_documents
from ragbase.storage.pool import Connection, Database
from ragbase.worker.sweep import Sweep

from ..graph_rows import add_document, entity_ids


@pytest.fixture
async def wanted(connection: Connection) -> None:
    async with connection.transaction():
        assert await outbox.want_changes(connection) is not None


async def noted(connection: Connection) -> outbox.Changes:
    """All notes, taken away."""
    async with connection.transaction():
        return await outbox.take_changes(connection, 10_000)


async def test_nothing_is_noted_where_nobody_wants_it(connection: Connection) -> None:
    await add_document(connection, ("One.", ["A", "B"], [("A", "B")]))
    await connection.execute("INSERT INTO concepts (collection_id, name) VALUES (1, 'x')")
    assert (await noted(connection)).taken == 0
    assert await connection.fetchval("SELECT count(*) FROM graph_projection") == 0


@pytest.mark.usefixtures("wanted")
async def test_writing_and_deleting_documents_notes_what_they_touch(
    connection: Connection, db: Database
) -> None:
    document = await add_document(connection, ("One.", ["A", "B"], [("A", "B")]))
    ids = await entity_ids(connection)
    a, b = ids["a"], ids["b"]
    changes = await noted(connection)
    assert {a, b} <= changes.entities
    assert changes.relations == {(a, b)}

    await add_document(connection, ("Two.", [EntityFact("A", "person")], []))
    assert a in (await noted(connection)).entities

    async with db.transaction() as writing:
        await delete_documents(writing, [document])
    changes = await noted(connection)
    assert changes.entities == {*ids.values()}
    assert changes.relations == {(a, b)}


@pytest.mark.usefixtures("wanted")
async def test_plain_sql_is_noted_too(connection: Connection) -> None:
    """Cascades included: whatever way something goes."""
    document = await add_document(connection, ("One.", ["A", "B"], [("A", "B")]))
    ids = await entity_ids(connection)
    await noted(connection)
    await connection.execute("DELETE FROM documents WHERE id = $1", document)
    changes = await noted(connection)
    assert {ids["a"], ids["b"]} <= changes.entities
    assert changes.relations == {(ids["a"], ids["b"])}


@pytest.mark.usefixtures("wanted")
async def test_concepts_are_noted(connection: Connection) -> None:
    rows = await connection.fetch(
        "INSERT INTO concepts (collection_id, name) VALUES (1, 'x'), (1, 'y') RETURNING id"
    )
    x, y = sorted(row[0] for row in rows)
    await connection.execute(
        "INSERT INTO concept_relations (source_id, target_id, type) VALUES ($1, $2, 'T')", x, y
    )
    changes = await noted(connection)
    assert (changes.concepts, changes.concept_relations) == ({x, y}, {(x, y)})
    await connection.execute("UPDATE concepts SET type = 'z' WHERE id = $1", x)
    assert (await noted(connection)).concepts == {x}
    await connection.execute("DELETE FROM collections WHERE id = 1")
    changes = await noted(connection)
    assert (changes.concepts, changes.concept_relations) == ({x, y}, {(x, y)})


async def test_a_wish_that_ran_out_begins_a_new_epoch(connection: Connection) -> None:
    """What went unnoted in between is not known: the projection is made anew."""
    async with connection.transaction():
        first = await outbox.want_changes(connection)
    async with connection.transaction():
        assert await outbox.want_changes(connection) == first
    assert await outbox.read_epoch(connection) == first
    await connection.execute("UPDATE graph_projection SET wanted_until = now() - interval '1 s'")
    assert await outbox.read_epoch(connection) is None
    await add_document(connection, ("One.", ["A"], []))
    assert (await noted(connection)).taken == 0
    async with connection.transaction():
        second = await outbox.want_changes(connection)
    assert second is not None
    assert second != first


async def test_the_first_wish_waits_for_writers_that_note_nothing(
    connection: Connection, db: Database
) -> None:
    """Their changes would be in no note, and in no first look either."""
    async with db.acquire() as other, other.transaction():
        await other.execute("INSERT INTO concepts (collection_id, name) VALUES (1, 'x')")
        async with connection.transaction():
            assert await outbox.want_changes(connection) is None
    async with connection.transaction():
        assert await outbox.want_changes(connection) is not None


async def test_too_many_notes_are_forgotten_and_begin_a_new_epoch(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with connection.transaction():
        epoch = await outbox.want_changes(connection)
    await add_document(connection, ("One.", ["A", "B"], []))
    for _ in range(3):
        await outbox.note_everything(connection)
    assert not await outbox.bound_changes(connection)
    monkeypatch.setattr(outbox, "CHANGES_MAX", 1)
    assert await outbox.bound_changes(connection)
    assert (await noted(connection)).taken == 0
    assert await outbox.read_epoch(connection) not in (None, epoch)


@pytest.mark.usefixtures("wanted")
async def test_making_a_large_graph_anew_is_not_too_many_notes(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a store that fails once while it is filled is filled from the start, each time."""
    await add_document(connection, ("One.", ["A", "B"], [("A", "B")]))
    await noted(connection)
    epoch = await outbox.read_epoch(connection)
    monkeypatch.setattr(outbox, "CHANGES_MAX", 1)
    await outbox.note_everything(connection)
    assert not await outbox.bound_changes(connection)
    assert await outbox.read_epoch(connection) == epoch


@pytest.mark.usefixtures("wanted")
async def test_notes_that_nobody_wants_any_more_are_removed(connection: Connection) -> None:
    """An installation that no longer names a graph store keeps none."""
    await add_document(connection, ("One.", ["A"], []))
    async with connection.transaction():
        await outbox.tidy_changes(connection)
    assert await outbox.count_changes(connection)
    await connection.execute("UPDATE graph_projection SET wanted_until = now() - interval '1 s'")
    async with connection.transaction():
        await outbox.tidy_changes(connection)
    assert await outbox.count_changes(connection) == 0


@pytest.mark.usefixtures("wanted")
async def test_any_worker_removes_notes_that_nobody_wants(
    connection: Connection, db: Database
) -> None:
    await add_document(connection, ("One.", ["A"], []))
    await outbox.forget_wish(connection)
    await Sweep(db, every_s=1.0, kept_s=60.0).round()
    assert await outbox.count_changes(connection) == 0


@pytest.mark.usefixtures("wanted")
async def test_notes_are_bounded_also_where_nobody_projects(
    connection: Connection, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By whichever process comes by; where one projects, that is its own affair."""
    await add_document(connection, ("One.", ["A"], []))
    for _ in range(3):
        await outbox.note_everything(connection)
    monkeypatch.setattr(outbox, "CHANGES_MAX", 1)
    async with outbox.leading(database_url) as leader:
        assert leader is not None
        async with connection.transaction():
            await outbox.tidy_changes(connection)
        assert await outbox.count_changes(connection)
    async with connection.transaction():
        await outbox.tidy_changes(connection)
    assert await outbox.count_changes(connection) == 0


async def test_a_leader_that_stands_still_leads_no_longer(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that is stopped keeps its connection; also in a transaction."""
    for setting in ("idle_session_timeout", "idle_in_transaction_session_timeout"):
        monkeypatch.setitem(outbox._LET_GO, setting, "200ms")
    for statement in ("SELECT", "BEGIN"):
        with pytest.raises(DatabaseUnavailableError):
            await _stand_still(database_url, statement)


async def _stand_still(dsn: str, statement: str) -> None:
    async with outbox.leading(dsn) as leader:
        assert leader is not None
        await leader.execute(statement)
        await asyncio.sleep(0.5)
        async with outbox.leading(dsn) as other:
            assert other is not None
        await leader.execute("SELECT")


async def test_a_leader_may_take_its_time(database_url: str, connection: Connection) -> None:
    """Whatever bound a database has for everyone: noting ten million things takes a minute."""
    name = await connection.fetchval("SELECT quote_ident(current_database())")
    await connection.execute(f"ALTER DATABASE {name} SET statement_timeout = '100ms'")
    async with outbox.leading(database_url) as leader:
        assert leader is not None
        await leader.execute("SELECT pg_sleep(0.3)")


async def test_a_leader_whose_machine_is_gone_is_missed_soon(database_url: str) -> None:
    """Not after the two hours of the system's keepalive."""
    async with outbox.leading(database_url) as leader:
        assert leader is not None
        rows = await leader.fetch(
            "SELECT reset_val, source FROM pg_settings WHERE name = ANY($1)",
            ["tcp_keepalives_idle", "idle_session_timeout", "idle_in_transaction_session_timeout"],
        )
    assert [row["source"] for row in rows] == ["client"] * 3


@pytest.mark.usefixtures("wanted")
@pytest.mark.parametrize(
    ("kind", "stored"), [("entity", False), ("relation", False), ("entity", True)]
)
async def test_only_what_is_not_stored_is_noted_as_missing(
    connection: Connection, kind: str, stored: bool
) -> None:
    await add_document(connection, ("One.", ["A", "B"], [("A", "B")]))
    key = (await entity_ids(connection))["a"] if stored else 999_999
    await noted(connection)
    await outbox.note_missing(connection, [(kind, key, key if kind == "relation" else None)])
    assert (await noted(connection)).taken == (0 if stored else 1)


async def test_one_session_leads(database_url: str) -> None:
    async with outbox.leading(database_url) as first, outbox.leading(database_url) as second:
        assert first is not None
        assert second is None
    async with outbox.leading(database_url) as third:
        assert third is not None
