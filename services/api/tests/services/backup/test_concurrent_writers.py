"""A backup taken while others write holds one state: every document with all that is its own."""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress
from pathlib import Path
from typing import Any

from ragbase.errors import NotFoundError
from ragbase.retrieval.lexical.native import NativeDialect
from ragbase.storage.documents import delete_document
from ragbase.storage.pool import Database

BROKEN = {
    "documents without the chunks they were written with": """
        SELECT d.id FROM documents d
        WHERE (SELECT count(*) FROM chunks c WHERE c.document_id = d.id)
            <> (d.metadata ->> 'chunks')::int
    """,
    "chunks without a vector": """
        SELECT id FROM chunks WHERE id NOT IN (SELECT chunk_id FROM embeddings)
    """,
    "vectors without a chunk": """
        SELECT chunk_id FROM embeddings WHERE chunk_id NOT IN (SELECT id FROM chunks)
    """,
    "postings other than those of the chunks": """
        (
            SELECT t.term_key, c.id, t.tf, t.dl
            FROM chunks c CROSS JOIN LATERAL lexical_terms(c.lexical_text, c.collection_id) t
            EXCEPT SELECT term_key, chunk_id, tf, dl FROM postings
        ) UNION ALL (
            SELECT term_key, chunk_id, tf, dl FROM postings
            EXCEPT
            SELECT t.term_key, c.id, t.tf, t.dl
            FROM chunks c CROSS JOIN LATERAL lexical_terms(c.lexical_text, c.collection_id) t
        )
    """,
    "statistics other than those of the chunks": """
        SELECT FROM (SELECT sum(chunks) AS n, sum(tokens) AS tokens FROM lexical_statistics) s,
            (SELECT count(*) AS n, sum(lexical_length(lexical_text)) AS tokens FROM chunks) c
        WHERE (s.n, s.tokens) IS DISTINCT FROM (c.n, c.tokens)
    """,
}


async def write(world: Any, name: int, written: list[int]) -> None:
    """Add documents of one to six chunks and delete every third, until cancelled."""
    chance, mine = random.Random(name), []
    for number in range(1_000_000):
        count = chance.randint(1, 6)
        texts = [f"words of {name} {number} {part} {chance.random()}" for part in range(count)]
        mine.append(
            await world.add(
                f"D{name}-{number}",
                *texts,
                metadata={"chunks": count},
                external_id=f"{name}-{number}",
            )
        )
        if number % 3 == 2:
            async with world.database.transaction() as connection:
                with suppress(NotFoundError):
                    await delete_document(connection, mine.pop(chance.randrange(len(mine))))
        written.append(number)


async def test_the_restored_database_is_one_state(
    world: Any,
    database_url: str,
    target: str,
    take: Any,
    give: Any,
    rows_of: Any,
    broken_program: Any,
    tmp_path: Path,
) -> None:
    written: list[int] = []
    go = tmp_path / "go"
    gate = f"while ! [ -e {go} ]; do sleep 0.02; done"
    slow = broken_program("pg_dump", f'{gate}; exec $real "$@"')
    writers = [asyncio.create_task(write(world, name, written)) for name in range(4)]

    async def writes(more: int) -> None:
        least = len(written) + more
        async with asyncio.timeout(60):
            while len(written) < least:
                assert not any(writer.done() for writer in writers)
                await asyncio.sleep(0.01)

    await writes(40)
    backup = asyncio.create_task(take(slow))
    await writes(40)  # after the snapshot, before the dump reads a row
    await asyncio.to_thread(go.touch)
    entry = await backup
    for writer in writers:
        writer.cancel()
    await asyncio.gather(*writers, return_exceptions=True)

    assert (await give(entry.path, target)).verified
    for what, statement in BROKEN.items():
        assert await rows_of(target, statement) == [], what
    async with (
        await Database.open(target, min_size=0) as database,
        database.acquire() as connection,
    ):
        assert await NativeDialect().prepare(connection) == []
    ((now,),) = await rows_of(database_url, "SELECT count(*) FROM documents")
    assert 0 < entry.manifest.rows("documents") < now
