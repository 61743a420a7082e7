"""What a lexical dialect must do: rank chunks by BM25 over ready-made terms.

Both dialects index ``chunks.lexical_text`` (the analysed terms of ``indexed_content``, joined by
single spaces; see `ragbase.text.analyse`) and are queried with terms of the same analyser, so no
user text ever meets a query parser.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    import asyncpg

    from ragbase.models.domain import Hit, StoredChunk
    from ragbase.retrieval.filters import Condition

__all__ = ["DialectName", "LexicalDialect"]

DialectName = Literal["native", "paradedb"]


class LexicalDialect(Protocol):
    """BM25 in one Postgres flavour."""

    @property
    def name(self) -> DialectName: ...

    @property
    def writer_settings(self) -> Mapping[str, str]:
        """Session settings that writers to ``chunks`` need."""
        ...

    def statement(self, *, filtered: Condition | None, depth: int) -> str:
        """The search statement; its parameters are $1 terms text[], $2 collection ids bigint[],
        then those of ``filtered`` (compiled with ``first=3``). Selects chunk_id, score.
        """
        ...

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
        """The best ``depth`` chunks, by score descending, then chunk id. No terms → no hits.

        A dialect that can read the chunks' rows by the same statement puts them into ``chunks``.
        """
        ...

    async def prepare(self, connection: asyncpg.Connection) -> list[str]:
        """Run at start-up: heal what a crash broke; returns what was done, for the log."""
        ...

    async def maintain(self, connection: asyncpg.Connection) -> None:
        """Cheap periodic upkeep (fold statistics)."""
        ...

    async def rebuild(self, connection: asyncpg.Connection) -> None:
        """Build the index again from ``chunks.lexical_text``."""
        ...
