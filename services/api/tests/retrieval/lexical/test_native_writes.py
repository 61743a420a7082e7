"""Postings and statistics follow every way of writing to ``chunks``, also from many writers."""

from __future__ import annotations

import asyncio
import random

from ragbase.retrieval.lexical.native import NativeDialect
from ragbase.storage.pool import Connection, Database

NATIVE = NativeDialect()

WANTED = """
    SELECT t.term_key, c.id, t.tf, t.dl
    FROM chunks c CROSS JOIN LATERAL lexical_terms(c.lexical_text, c.collection_id) t
"""
STORED = "SELECT term_key, chunk_id, tf, dl FROM postings"


async def assert_consistent(connection: Connection) -> None:
    """Postings are exactly those of the chunks; statistics sum to the chunks' counts."""
    for one, other in ((WANTED, STORED), (STORED, WANTED)):
        assert await connection.fetch(f"{one} EXCEPT ALL {other}") == []
    counted = await connection.fetch(
        "SELECT collection_id, count(*), sum(cardinality(string_to_array(lexical_text, ' '))) "
        "FROM chunks GROUP BY 1 ORDER BY 1"
    )
    kept = await connection.fetch(
        "SELECT collection_id, sum(chunks)::bigint, sum(tokens)::bigint FROM lexical_statistics "
        "GROUP BY 1 HAVING sum(chunks) <> 0 OR sum(tokens) <> 0 ORDER BY 1"
    )
    assert [tuple(row) for row in kept] == [tuple(row) for row in counted]


async def test_every_write_is_followed(shelf, connection: Connection) -> None:
    other = await shelf.collection("other")
    ids = await shelf.add(["a b a", "b c", "", "d " * 400 + "d"])
    await assert_consistent(connection)
    await connection.execute(
        "UPDATE chunks SET lexical_text = lexical_text || ' z' WHERE id = $1", ids[0]
    )
    await connection.execute("UPDATE chunks SET collection_id = $1 WHERE id = $2", other, ids[1])
    await assert_consistent(connection)
    await connection.execute("DELETE FROM chunks WHERE id = $1", ids[3])
    await assert_consistent(connection)
    await connection.execute("DELETE FROM collections WHERE id = $1", other)
    await shelf.add(["q"])
    await assert_consistent(connection)
    await connection.execute("DELETE FROM documents")
    await assert_consistent(connection)
    assert await connection.fetchval("SELECT count(*) FROM postings") == 0


async def test_truncate_is_followed(shelf, connection: Connection) -> None:
    await shelf.add(["a b", "c"])
    await connection.execute("TRUNCATE chunks CASCADE")
    await assert_consistent(connection)


async def test_a_rolled_back_write_leaves_nothing(shelf, connection: Connection) -> None:
    await shelf.add(["a b"])
    transaction = connection.transaction()
    await transaction.start()
    await shelf.add(["a c"])
    await transaction.rollback()
    await assert_consistent(connection)


async def test_a_change_of_metadata_writes_no_postings(shelf, connection: Connection) -> None:
    ids = await shelf.add(["a b", "c"])
    before = await connection.fetch("SELECT ctid::text FROM postings")
    await connection.execute("UPDATE chunks SET metadata = '{\"k\": 1}' WHERE id = ANY($1)", ids)
    assert await connection.fetch("SELECT ctid::text FROM postings") == before
    assert await connection.fetchval("SELECT count(*) FROM lexical_statistics") == 1


async def test_deletes_look_postings_up(shelf, connection: Connection) -> None:
    """A session that first emptied a small table keeps no plan that reads all postings."""
    texts = [" ".join(f"w{n * k}" for k in range(1, 60)) for n in range(1, 1_500)]
    await shelf.add(texts[:300])
    await connection.execute("UPDATE chunks SET lexical_text = lexical_text || ' x'")
    await connection.execute("DELETE FROM chunks")
    ids = await shelf.add(texts)
    await connection.execute("SELECT pg_stat_force_next_flush()")
    scans = "SELECT seq_scan, seq_tup_read FROM pg_stat_user_tables WHERE relname = 'postings'"
    before = await connection.fetchrow(scans)
    for chunk in ids[:5]:
        await connection.execute("DELETE FROM chunks WHERE id = $1", chunk)
        await connection.execute("UPDATE chunks SET lexical_text = 'x' WHERE id = $1", chunk + 100)
    await connection.execute("SELECT pg_stat_force_next_flush()")
    assert await connection.fetchrow(scans) == before


async def _write(db: Database, seed: int, seconds: float) -> int:
    """Insert, update and delete in transactions of several statements; returns chunks written."""
    chance = random.Random(seed)
    async with db.acquire() as connection:
        document = await connection.fetchval(
            "INSERT INTO documents (title, content) VALUES ('t', '') RETURNING id"
        )
        end, written = asyncio.get_running_loop().time() + seconds, 0
        while asyncio.get_running_loop().time() < end:
            texts = [" ".join(f"w{chance.randrange(40)}" for _ in range(30)) for _ in range(8)]
            async with connection.transaction():
                ids = await connection.fetch(
                    "INSERT INTO chunks (document_id, chunk_index, content, indexed_content, "
                    "lexical_text) SELECT $1, $2 + n, '', '', t FROM unnest($3::text[]) "
                    "WITH ORDINALITY AS u (t, n) RETURNING id",
                    document,
                    written,
                    texts,
                )
                await connection.execute(
                    "UPDATE chunks SET lexical_text = $2 WHERE id = $1", ids[0]["id"], texts[1]
                )
                await connection.execute("DELETE FROM chunks WHERE id = $1", ids[1]["id"])
            written += len(texts)
    return written


async def _read(db: Database, seconds: float) -> int:
    end, reads = asyncio.get_running_loop().time() + seconds, 0
    async with db.acquire() as connection:
        while asyncio.get_running_loop().time() < end:
            hits = await NATIVE.search(connection, ["w1", "w2", "w3"], [1], depth=20)
            assert all(hit.score > 0 for hit in hits)
            await NATIVE.maintain(connection)
            reads += 1
    return reads


async def test_writers_and_readers_beside_each_other(db: Database, connection: Connection) -> None:
    done = await asyncio.gather(
        *(_write(db, seed, 1.5) for seed in range(4)), _read(db, 1.5), _read(db, 1.5)
    )
    assert all(done)
    await assert_consistent(connection)


async def test_writers_of_the_same_rows_do_not_deadlock(
    db: Database, shelf, connection: Connection
) -> None:
    ids = await shelf.add([f"a b w{n}" for n in range(30)])

    async def rewrite(seed: int) -> None:
        chance = random.Random(seed)
        async with db.acquire() as own:
            for _ in range(40):
                await own.execute(
                    "UPDATE chunks SET lexical_text = $2 WHERE id = $1",
                    chance.choice(ids),
                    f"b c w{chance.randrange(9)}",
                )

    await asyncio.gather(*(rewrite(seed) for seed in range(4)))
    await assert_consistent(connection)
