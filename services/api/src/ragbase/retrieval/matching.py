"""Documents, rather than chunks, that a filter matches: also those that have no chunk.

`compile_filter` writes conditions on a row ``c`` of ``chunks``; here ``c`` is a document with a
chunk's column names. Both have the same metadata, and each its own GIN index on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ragbase.models.filters import Filter
from ragbase.retrieval.filters import compile_filter
from ragbase.storage.pool import Connection

__all__ = ["Matching"]

_ROWS = """
    FROM (SELECT id AS document_id, collection_id, metadata FROM documents) c
    WHERE c.collection_id = $1
"""


@dataclass(frozen=True, slots=True)
class Matching:
    """The documents of one collection that match ``node``."""

    node: Filter
    collection_id: int

    async def count(self, connection: Connection) -> int:
        """How many there are."""
        condition, args = self._condition(first=2)
        found: int = await connection.fetchval(f"SELECT count(*) {_ROWS} AND {condition}", *args)
        return found

    async def page(self, connection: Connection, *, after: int, upto: int, limit: int) -> list[int]:
        """Ids above ``after`` and not above ``upto``, smallest first, at most ``limit``."""
        condition, args = self._condition(first=5)
        rows = await connection.fetch(
            f"SELECT c.document_id {_ROWS} AND c.document_id > $2 AND c.document_id <= $3 "
            f"AND {condition} ORDER BY c.document_id LIMIT $4",
            args[0],
            after,
            upto,
            limit,
            *args[1:],
        )
        return [row[0] for row in rows]

    async def lock(self, connection: Connection, document_ids: Sequence[int]) -> list[int]:
        """Those of the ids that match still, smallest first, locked to the transaction's end."""
        condition, args = self._condition(first=3)
        rows = await connection.fetch(
            f"SELECT c.document_id {_ROWS} AND c.document_id = ANY($2::bigint[]) AND {condition} "
            "ORDER BY c.document_id FOR UPDATE",
            args[0],
            document_ids,
            *args[1:],
        )
        return [row[0] for row in rows]

    def _condition(self, *, first: int) -> tuple[str, list[Any]]:
        """The condition, and the values of ``$1`` and of those from ``$first`` on."""
        condition = compile_filter(self.node, first=first)
        return f"({condition.sql})", [self.collection_id, *condition.args]
