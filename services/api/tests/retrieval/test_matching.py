"""Documents that a filter matches: as searches see it, and also those without a chunk."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import pytest_asyncio

from ragbase.models.filters import parse_filter
from ragbase.retrieval.filters import compile_filter
from ragbase.retrieval.matching import Matching
from ragbase.storage.pool import Connection, Database

FILTERS: list[dict[str, Any]] = [
    {"n": 2},
    {"n": {"gt": 1}},
    {"n": {"ne": 2}},
    {"tag": {"in": ["a", "c"]}},
    {"tag": {"contains": "a"}},
    {"deep.key": {"exists": True}},
    {"@id": {"lte": 3}},
    {"@title": "T1"},
    {"@external_id": {"exists": False}},
    {"@created_at": {"lt": "2000-01-01"}},
    {"or": [{"n": 0}, {"not": {"tag": {"exists": True}}}]},
]


@pytest_asyncio.fixture
async def documents(connection: Connection) -> None:
    """Five documents with a chunk each, of other metadata, and their twins without one."""
    values: list[dict[str, Any]] = [
        {"n": 0, "tag": "a"},
        {"n": 1, "tag": ["a", "b"]},
        {"n": 2, "deep": {"key": None}},
        {"n": "2", "tag": "c"},
        {},
    ]
    for number, metadata in enumerate(values * 2):
        document_id = await connection.fetchval(
            "INSERT INTO documents (title, content, metadata, external_id) "
            "VALUES ($1, 'c', $2, $3) RETURNING id",
            f"T{number % 5}",
            metadata,
            None if number % 2 else f"e{number}",
        )
        if number < 5:
            await connection.execute(
                "INSERT INTO chunks (document_id, chunk_index, content, indexed_content, metadata) "
                "VALUES ($1, 0, 'c', 'c', $2)",
                document_id,
                metadata,
            )


@pytest.mark.parametrize("raw", FILTERS, ids=str)
@pytest.mark.usefixtures("documents")
async def test_it_finds_what_a_search_would_and_documents_without_chunks(
    connection: Connection, raw: dict[str, Any]
) -> None:
    node = parse_filter(raw)
    condition = compile_filter(node, first=1)
    rows = await connection.fetch(
        f"SELECT document_id FROM chunks c WHERE {condition.sql}", *condition.args
    )
    matching = Matching(node, collection_id=1)
    found = await matching.page(connection, after=0, limit=100)
    assert [number for number in found if number <= 5] == sorted(row[0] for row in rows)
    assert len(found) == await matching.count(connection)
    assert found == await matching.lock(connection, list(range(1, 20)))
    if not any(key.startswith("@") for key in raw):
        assert [number - 5 for number in found if number > 5] == [n for n in found if n <= 5]


@pytest.mark.usefixtures("documents")
async def test_pages_follow_each_other_within_one_collection(connection: Connection) -> None:
    matching = Matching(parse_filter({"@id": {"exists": True}}), collection_id=1)
    first = await matching.page(connection, after=0, limit=4)
    second = await matching.page(connection, after=first[-1], limit=100)
    assert first + second == list(range(1, 11))
    elsewhere = Matching(matching.node, collection_id=2)
    assert await elsewhere.page(connection, after=0, limit=4) == []
    assert await elsewhere.count(connection) == 0
    assert await elsewhere.lock(connection, first) == []


@pytest.mark.usefixtures("documents")
async def test_a_document_that_changes_meanwhile_is_tested_again(
    connection: Connection, db: Database
) -> None:
    """Its writer commits while the deletion waits for the row: it no longer matches, and stays."""
    matching = Matching(parse_filter({"n": {"lt": 2}}), collection_id=1)
    writing = connection.transaction()
    await writing.start()
    await connection.execute("""UPDATE documents SET metadata = '{"n": 5}' WHERE id = 1""")
    async with db.transaction() as deletion:
        backend = await deletion.fetchval("SELECT pg_backend_pid()")
        locking = asyncio.create_task(matching.lock(deletion, [1, 2]))
        while not await waits(db, backend):  # noqa: ASYNC110 - another process is waited for
            await asyncio.sleep(0.01)
        await writing.commit()
        assert await locking == [2]


async def waits(db: Database, backend: int) -> bool:
    """Whether a backend waits for a lock."""
    async with db.read() as connection:
        found: bool = await connection.fetchval(
            "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $1", backend
        )
        return found
