"""The paradedb dialect's statements, and its care for an index that a crash can spoil.

pg_search itself cannot be installed from a package registry; here its names are emulated
(``emulated_pg_search.sql``), so what is proved is the statements' form and the flow around them.
"""

from __future__ import annotations

import asyncio
import importlib.util
from pathlib import Path

import asyncpg
import pytest
import pytest_asyncio

from ragbase.errors import UnavailableError
from ragbase.retrieval.filters import Condition
from ragbase.retrieval.lexical.paradedb import ParadeDialect
from ragbase.storage import migrations
from ragbase.storage.pool import Connection, Database

PARADE = ParadeDialect()
EMULATION = Path(__file__).parent / "emulated_pg_search.sql"

UNFILTERED = """
SELECT c.id AS chunk_id, pdb.score(c.id) AS score
FROM chunks c
WHERE c.lexical_text ||| $1::text[]
    AND c.collection_id @@@ pdb.term_set($2::bigint[])::pdb.const(0)
ORDER BY pdb.score(c.id) DESC, c.id
LIMIT 50
"""
FILTERED = """
SELECT c.id AS chunk_id, pdb.score(c.id) AS score
FROM chunks c
WHERE c.lexical_text ||| $1::text[]
    AND c.collection_id @@@ pdb.term_set($2::bigint[])::pdb.const(0)
    AND c.id IN (SELECT c.id FROM chunks c WHERE c.metadata @> $3::text::jsonb)
ORDER BY pdb.score(c.id) DESC, c.id
LIMIT 7
"""


@pytest_asyncio.fixture
async def emulated(connection: Connection) -> Connection:
    """The connection of a database that looks as if pg_search were there."""
    await connection.execute(EMULATION.read_text(encoding="utf-8"))
    return connection


def test_statement_without_filter() -> None:
    assert PARADE.statement(filtered=None, depth=50) == UNFILTERED


def test_statement_with_filter() -> None:
    condition = Condition("c.metadata @> $3::text::jsonb", ['{"k": 1}'])
    assert PARADE.statement(filtered=condition, depth=7) == FILTERED


def test_index_is_over_the_ready_made_terms() -> None:
    path = Path(migrations.__file__).parent / "versions" / "paradedb_0001_bm25.py"
    spec = importlib.util.spec_from_file_location("paradedb_0001", path)
    assert spec is not None
    assert spec.loader is not None
    revision = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(revision)
    index = " ".join(revision.STATEMENTS[1].split())
    assert index == (
        "CREATE INDEX chunks_bm25 ON chunks "
        "USING bm25 (id, (lexical_text::pdb.whitespace), collection_id, document_id) "
        "WITH (key_field = 'id')"
    )


def test_writers_keep_new_rows_out_of_the_slow_segment() -> None:
    assert PARADE.writer_settings == {"paradedb.global_mutable_segment_rows": "0"}


async def test_nothing_is_rebuilt_without_a_crash(emulated: Connection) -> None:
    assert await PARADE.prepare(emulated) == []


async def test_a_crash_rebuilds_the_index_once(db: Database, emulated: Connection) -> None:
    await emulated.execute("TRUNCATE bm25_guard")  # what crash recovery does to it
    before = await emulated.fetchval("SELECT pg_relation_filenode('chunks_bm25')")

    async def start() -> list[str]:
        async with db.acquire() as own:
            return await PARADE.prepare(own)

    done = await asyncio.gather(start(), start())
    assert sorted(len(actions) for actions in done) == [0, 1]
    assert await emulated.fetchval("SELECT pg_relation_filenode('chunks_bm25')") != before
    assert await PARADE.prepare(emulated) == []


async def test_a_search_after_a_crash_heals_first(shelf, emulated: Connection) -> None:
    ids = await shelf.add(["a b", "c"])
    await emulated.execute("TRUNCATE bm25_guard")
    hits = await PARADE.search(emulated, ["a"], [1], depth=5)
    assert [hit.chunk_id for hit in hits] == ids[:1]
    assert await emulated.fetchval("SELECT count(*) FROM bm25_guard") == 1


async def test_searches_beside_a_rebuild_are_told(db: Database, emulated: Connection) -> None:
    await emulated.execute("TRUNCATE bm25_guard")
    async with db.transaction() as other:
        await other.execute("SELECT pg_advisory_xact_lock($1)", 0x626D_3235)
        with pytest.raises(UnavailableError) as caught:
            await PARADE.search(emulated, ["a"], [1], depth=5)
    assert caught.value.code == "keyword_index_rebuilding"


async def test_a_failed_rebuild_is_not_taken_for_done(emulated: Connection) -> None:
    await emulated.execute("TRUNCATE bm25_guard")
    await emulated.execute(
        "CREATE FUNCTION bad(bigint) RETURNS bigint IMMUTABLE LANGUAGE plpgsql "
        "AS $$ BEGIN IF current_setting('emulated.bad', true) = 'on' THEN "
        "RAISE EXCEPTION 'broken'; END IF; RETURN $1; END $$"
    )
    await emulated.execute("DROP INDEX chunks_bm25")
    await emulated.execute("INSERT INTO documents (title, content) VALUES ('t', '')")
    await emulated.execute(
        "INSERT INTO chunks (document_id, chunk_index, content, "
        "indexed_content, lexical_text) SELECT max(id), 0, '', '', 'a' FROM documents"
    )
    await emulated.execute("CREATE INDEX chunks_bm25 ON chunks (bad(id))")
    await emulated.execute("SET emulated.bad = 'on'")
    with pytest.raises(asyncpg.RaiseError):
        await PARADE.prepare(emulated)
    assert await emulated.fetchval("SELECT count(*) FROM bm25_guard") == 0


async def test_rebuild_sets_the_guard(emulated: Connection) -> None:
    await emulated.execute("TRUNCATE bm25_guard")
    await PARADE.rebuild(emulated)
    assert await PARADE.prepare(emulated) == []
