"""The paradedb dialect: BM25 by pg_search over the index ``chunks_bm25``.

Rules that pg_search 0.21 and 0.23 were found to need, each of them kept here: operator, score,
order and a literal LIMIT stand at one query level; the collection filter is a constant-score term
set, because ``= ANY`` adds to every score; the filter is an ``IN`` over ``chunks`` itself, so that
nothing in it is pushed into the index, where it would add to scores; no parameter is ever NULL.
Statistics (document count and frequencies, average length) are those of the whole index, deleted
rows included until a REINDEX.

The index may be wrong, silently, after a crash of the server: its pages need not be in the WAL.
The unlogged table ``bm25_guard`` is emptied by crash recovery; while it is empty, nothing is
answered from the index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ragbase.errors import UnavailableError
from ragbase.retrieval.lexical.dialect import DialectName
from ragbase.retrieval.lexical.hits import read_hits
from ragbase.retrieval.lexical.query_terms import bounded

if TYPE_CHECKING:
    import asyncpg

    from ragbase.models.domain import Hit, StoredChunk
    from ragbase.retrieval.filters import Condition

__all__ = ["ParadeDialect"]

_SEARCH = """
SELECT c.id AS chunk_id, pdb.score(c.id) AS score
FROM chunks c
WHERE c.lexical_text ||| $1::text[]
    AND c.collection_id @@@ pdb.term_set($2::bigint[])::pdb.const(0){filtered}
ORDER BY pdb.score(c.id) DESC, c.id
LIMIT {depth:d}
"""
_FILTERED = """
    AND c.id IN (SELECT c.id FROM chunks c WHERE {condition})"""

_GUARDED = "SELECT EXISTS (SELECT FROM bm25_guard WHERE relid = 'chunks_bm25'::regclass)"
_GUARD = "INSERT INTO bm25_guard (relid) VALUES ('chunks_bm25'::regclass) ON CONFLICT DO NOTHING"
_REINDEX = "REINDEX INDEX chunks_bm25"
_LOCK = 0x626D_3235
"""Key of the advisory lock around healing: "bm25" in ASCII."""


class ParadeDialect:
    """`LexicalDialect` over pg_search. Statistics are those of all collections together."""

    name: DialectName = "paradedb"
    writer_settings: Mapping[str, str] = {"paradedb.global_mutable_segment_rows": "0"}
    """Session settings that writers to ``chunks`` need. By default new rows wait in a segment that
    every search analyses again: 3 ms became 80 after 1,000 inserts."""

    def statement(self, *, filtered: Condition | None, depth: int) -> str:
        """See `LexicalDialect.statement`."""
        condition = _FILTERED.format(condition=filtered.sql) if filtered else ""
        return _SEARCH.format(filtered=condition, depth=depth)

    async def search(
        self,
        connection: asyncpg.Connection,
        terms: Sequence[str],
        collections: Sequence[int],
        *,
        filtered: Condition | None = None,
        depth: int,
        chunks: dict[int, StoredChunk] | None = None,  # noqa: ARG002 - as the protocol has it
    ) -> list[Hit]:
        """See `LexicalDialect.search`; ``chunks`` are left to be read by their own statement.

        After a crash the first search rebuilds the index; those beside it get `UnavailableError`.
        """
        wanted = bounded(terms)
        if not wanted or not collections or depth < 1:
            return []
        if not await connection.fetchval(_GUARDED):
            await self._heal(connection, wait=False)
        rows = await connection.fetch(
            self.statement(filtered=filtered, depth=depth),
            wanted,
            list(collections),
            *(filtered.args if filtered else ()),
        )
        return read_hits(rows)

    async def prepare(self, connection: asyncpg.Connection) -> list[str]:
        """REINDEX if the server crashed since the index was last built (8 s at 100,000 chunks)."""
        if await connection.fetchval(_GUARDED):
            return []
        healed = await self._heal(connection, wait=True)
        return ["rebuilt the keyword index after a crash of the database"] if healed else []

    async def maintain(self, connection: asyncpg.Connection) -> None:
        """Heal after a crash; otherwise there is nothing to do."""
        await self.prepare(connection)

    async def rebuild(self, connection: asyncpg.Connection) -> None:
        """REINDEX: also takes deleted rows out of the statistics. Writers wait for it."""
        async with connection.transaction():
            await connection.execute("SET LOCAL statement_timeout = 0")
            await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
            await connection.execute(_REINDEX)
            await connection.execute(_GUARD)

    async def _heal(self, connection: asyncpg.Connection, *, wait: bool) -> bool:
        """Whether this call was the one that rebuilt the index."""
        async with connection.transaction():
            await connection.execute("SET LOCAL statement_timeout = 0")
            if wait:
                await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
            elif not await connection.fetchval("SELECT pg_try_advisory_xact_lock($1)", _LOCK):
                raise UnavailableError(
                    "The keyword index is being rebuilt after a crash of the database.",
                    code="keyword_index_rebuilding",
                )
            if await connection.fetchval(_GUARDED):
                return False
            await connection.execute(_REINDEX)
            await connection.execute(_GUARD)
        return True
