"""core_0008 on a database that holds a graph already."""

from __future__ import annotations

import asyncpg

from ragbase.storage.documents import delete_documents
from ragbase.storage.migrations import migrate
from ragbase.storage.migrations.revise import revise
from ragbase.storage.pool import Database

from ..graph_rows import add_document
from ..memory_projection import MemoryWriter, mended, projecting

COUNTS = """
    SELECT (SELECT count(*) FROM entities), (SELECT count(*) FROM mentions),
        (SELECT count(*) FROM relations), (SELECT count(*) FROM concepts),
        (SELECT count(*) FROM concept_relations)
"""


async def test_a_graph_of_before_is_kept_and_projected(database_url: str) -> None:
    """Nothing noted it; what comes and goes afterwards is noted."""
    async with (
        await Database.open(database_url, min_size=0, max_size=2) as db,
        db.acquire() as connection,
    ):
        document = await add_document(connection, ("One.", ["A", "B"], [("A", "B")]))
        await connection.execute(
            "INSERT INTO concepts (collection_id, name) VALUES (1, 'x'), (1, 'y')"
        )
        await connection.execute(
            "INSERT INTO concept_relations (source_id, target_id, type) "
            "SELECT min(id), max(id), 'T' FROM concepts"
        )
        before = await connection.fetchrow(COUNTS)
    await revise(database_url, [("downgrade", "core_0006")])
    await _execute(  # as an outbox of then could hold
        database_url,
        "INSERT INTO graph_changes (collection_id, kind, key) VALUES (1, 'entity', 1)",
    )
    await migrate(database_url)
    async with await Database.open(database_url, min_size=0, max_size=4) as db:
        async with db.acquire() as connection:
            assert await connection.fetchrow(COUNTS) == before
            assert await connection.fetchval("SELECT count(*) FROM graph_changes") == 0
        writer = MemoryWriter()
        async with projecting(database_url, writer):
            assert (await mended(db, writer)).compared == 6
            async with db.transaction() as connection:
                await delete_documents(connection, [document])
            assert (await mended(db, writer)).compared == 3


async def _execute(dsn: str, statement: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()
