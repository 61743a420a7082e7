"""What the native dialect's triggers cost writers, beside a stored tsvector under GIN."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from ragbase.storage.pool import Database

__all__ = ["write_rates"]

ROWS_A_STATEMENT = 20
TEXT_CHUNKS = """
INSERT INTO {table} (document_id, collection_id, chunk_index, content, indexed_content, lexical_text)
SELECT $1, 1, $2 + n, t, t, t FROM unnest($3::text[]) WITH ORDINALITY AS u (t, n)
"""
GIN_TABLE = """
CREATE TABLE gin_writes (
    LIKE chunks INCLUDING DEFAULTS INCLUDING INDEXES,
    tsv tsvector GENERATED ALWAYS AS (to_tsvector('simple', lexical_text)) STORED
)
"""


async def _writer(
    db: Database, table: str, texts: Sequence[str], start: int, document: int
) -> None:
    statement = TEXT_CHUNKS.format(table=table)
    async with db.acquire() as connection:
        for offset in range(0, len(texts), ROWS_A_STATEMENT):
            batch = list(texts[offset : offset + ROWS_A_STATEMENT])
            await connection.execute(statement, document, start + offset, batch)


async def _rate(db: Database, table: str, texts: Sequence[str], writers: int) -> float:
    """Rows a second over all writers, each with a document of its own."""
    async with db.acquire() as connection:
        documents = [
            await connection.fetchval(
                "INSERT INTO documents (title, content) VALUES ('bench', '') RETURNING id"
            )
            for _ in range(writers)
        ]
    share = len(texts) // writers
    started = time.perf_counter()
    await asyncio.gather(
        *(
            _writer(db, table, texts[n * share : (n + 1) * share], 0, documents[n])
            for n in range(writers)
        )
    )
    return share * writers / (time.perf_counter() - started)


async def write_rates(db: Database, texts: Sequence[str]) -> dict[str, float]:
    """Rows a second, and milliseconds a 1,000 deleted rows; raises where a writer fails."""
    async with db.acquire() as connection:
        await connection.execute(GIN_TABLE)
        await connection.execute("CREATE INDEX ON gin_writes USING gin (tsv)")
        first = await connection.fetchval("SELECT max(id) FROM documents")
    rates = {
        "GIN, 1 writer": await _rate(db, "gin_writes", texts, 1),
        "postings, 1 writer": await _rate(db, "chunks", texts, 1),
        "postings, 6 writers": await _rate(db, "chunks", texts, 6),
        "GIN, 6 writers": await _rate(db, "gin_writes", texts, 6),
    }
    async with db.acquire() as connection:
        count = await connection.fetchval(
            "SELECT count(*) FROM chunks WHERE document_id > $1", first
        )
        started = time.perf_counter()
        await connection.execute("DELETE FROM documents WHERE id > $1", first)
        rates["delete, ms a 1,000"] = (time.perf_counter() - started) * 1e6 / count
        await connection.execute("DROP TABLE gin_writes")
    return rates
