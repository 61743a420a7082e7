"""The native dialect: exact BM25 on stock Postgres, kept up by triggers on ``chunks``.

The tables and triggers are those of migration ``native_0001``; ``docs/adr/0007-native-bm25.md``
says why they are as they are and what was measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ragbase.retrieval.lexical.dialect import DialectName
from ragbase.retrieval.lexical.hits import read_hits
from ragbase.retrieval.lexical.native_statement import native_statement
from ragbase.retrieval.lexical.query_terms import bounded
from ragbase.storage.chunks import chunks_beside, with_chunks

if TYPE_CHECKING:
    import asyncpg

    from ragbase.models.domain import Hit, StoredChunk
    from ragbase.retrieval.filters import Condition

__all__ = ["NativeDialect"]

_FOLD = """
WITH deltas AS MATERIALIZED (
    SELECT s.ctid, s.collection_id
    FROM lexical_statistics s
    WHERE s.collection_id IN (
        SELECT f.collection_id FROM lexical_statistics f GROUP BY 1 HAVING count(*) > 1
    )
    FOR UPDATE SKIP LOCKED
),
gone AS (
    DELETE FROM lexical_statistics s USING deltas d WHERE s.ctid = d.ctid
    RETURNING s.collection_id, s.chunks, s.tokens
)
INSERT INTO lexical_statistics (collection_id, chunks, tokens)
SELECT g.collection_id, sum(g.chunks), sum(g.tokens)
FROM gone g
GROUP BY 1
HAVING sum(g.chunks) <> 0 OR sum(g.tokens) <> 0
"""
"""One statement, so that a reader sees the deltas or their sum, never both or neither; two folds
at once share the rows out."""

_SOUND = """
SELECT
    (SELECT count(*) FROM chunks)
        = (SELECT coalesce(sum(s.chunks), 0) FROM lexical_statistics s)
    AND NOT EXISTS (
        SELECT
        FROM (
            (SELECT c.* FROM chunks c WHERE c.lexical_text <> '' ORDER BY c.id LIMIT 1)
            UNION ALL
            (SELECT c.* FROM chunks c WHERE c.lexical_text <> '' ORDER BY c.id DESC LIMIT 1)
        ) c
        CROSS JOIN LATERAL lexical_terms(c.lexical_text, c.collection_id) t
        WHERE NOT EXISTS (
            SELECT FROM postings p WHERE p.term_key = t.term_key AND p.chunk_id = c.id
        )
    )
"""
"""False where the count of chunks is off, or where the first or last chunk's terms are not found
under the keys that this server computes: Postgres does not promise that its hash stays the same
across major versions and processor families."""

_FILL = (
    "TRUNCATE postings",
    "DELETE FROM lexical_statistics",
    """
    INSERT INTO postings (term_key, chunk_id, tf, dl)
    SELECT t.term_key, c.id, t.tf, t.dl
    FROM chunks c CROSS JOIN LATERAL lexical_terms(c.lexical_text, c.collection_id) t
    ORDER BY 1, 2
    """,
    """
    INSERT INTO lexical_statistics (collection_id, chunks, tokens)
    SELECT c.collection_id, count(*), sum(lexical_length(c.lexical_text)) FROM chunks c GROUP BY 1
    """,
)
"""Only one table is locked against readers: with two, a reader that has the one and waits for the
other would deadlock with the rebuild, whatever the order."""


class NativeDialect:
    """`LexicalDialect` over ``postings``. Statistics are those of the searched collections."""

    name: DialectName = "native"
    writer_settings: Mapping[str, str] = {}
    """Session settings that writers to ``chunks`` need: none."""

    def statement(self, *, filtered: Condition | None, depth: int) -> str:
        """See `LexicalDialect.statement`."""
        return native_statement(filtered=filtered, depth=depth)

    async def search(
        self,
        connection: asyncpg.Connection,
        terms: Sequence[str],
        collections: Sequence[int],
        *,
        filtered: Condition | None = None,
        depth: int,
        chunks: dict[int, StoredChunk] | None = None,
    ) -> list[Hit]:
        """See `LexicalDialect.search`. Terms after the first 1,024 distinct ones do not count."""
        wanted = bounded(terms)
        if not wanted or not collections or depth < 1:
            return []
        statement = native_statement(filtered=filtered, depth=depth)
        if chunks is not None:
            statement = with_chunks(statement, "h.score DESC, h.chunk_id")
        args = filtered.args if filtered else ()
        rows = await connection.fetch(statement, wanted, list(collections), *args)
        if chunks is not None:
            chunks.update(chunks_beside(rows))
        return read_hits(rows)

    async def prepare(self, connection: asyncpg.Connection) -> list[str]:
        """Rebuild if the postings cannot be those of the chunks; costs a count of the chunks."""
        if await connection.fetchval(_SOUND):
            return []
        async with connection.transaction():
            await _stop_writers(connection)
            if await connection.fetchval(_SOUND):  # another replica was first
                return []
            await _fill(connection)
        await _vacuum(connection)
        return ["rebuilt the keyword index: it did not match the chunks"]

    async def maintain(self, connection: asyncpg.Connection) -> None:
        """Fold the statistics' deltas; never waits for a lock."""
        await connection.execute(_FOLD)

    async def rebuild(self, connection: asyncpg.Connection) -> None:
        """Derive everything again; searches and writers wait for it (about 0.5 ms a chunk).

        Outside a transaction of the caller's, the tables are vacuumed afterwards, which halves the
        time of searches.
        """
        async with connection.transaction():
            await _stop_writers(connection)
            await _fill(connection)
        await _vacuum(connection)


async def _stop_writers(connection: asyncpg.Connection) -> None:
    await connection.execute("SET LOCAL statement_timeout = 0")
    await connection.execute("SET LOCAL work_mem = '128MB'")
    await connection.execute("LOCK TABLE chunks IN SHARE ROW EXCLUSIVE MODE")


async def _fill(connection: asyncpg.Connection) -> None:
    for statement in _FILL:
        await connection.execute(statement)


async def _vacuum(connection: asyncpg.Connection) -> None:
    """Set the visibility map, without which index-only scans visit the heap."""
    if connection.is_in_transaction():
        return
    timeout = await connection.fetchval("SHOW statement_timeout")
    await connection.execute("SET statement_timeout = 0")
    try:
        await connection.execute("VACUUM (ANALYZE) postings, lexical_statistics")
    finally:
        await connection.execute("SELECT set_config('statement_timeout', $1, false)", timeout)
