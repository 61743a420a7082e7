"""Documents, rather than chunks, that a filter matches: also those that have no chunk.

`compile_filter` writes conditions on a row ``c`` of ``chunks``; here ``c`` is a document with a
chunk's column names. Both have the same metadata, and each its own GIN index on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ragbase.models.filters import Filter
from ragbase.retrieval.filters import compile_filter
from ragbase.storage.pool import Connection

__all__ = ["Matching"]

_ROWS = """
    FROM (SELECT id AS document_id, collection_id, metadata, accepted_at FROM documents) c
    WHERE c.collection_id = $1 AND ($2::timestamptz IS NULL OR c.accepted_at <= $2)
"""


@dataclass(frozen=True, slots=True)
class Matching:
    """The documents of one collection that match ``node``.

    ``accepted_by`` leaves out those whose version was accepted later than that.
    """

    node: Filter
    collection_id: int
    accepted_by: datetime | None = None

    async def count(self, connection: Connection) -> int:
        """How many there are."""
        condition, args = self._condition(first=3)
        found: int = await connection.fetchval(f"SELECT count(*) {_ROWS} AND {condition}", *args)
        return found

    async def page(self, connection: Connection, *, after: int, limit: int) -> list[int]:
        """Ids above ``after``, smallest first, at most ``limit``."""
        condition, args = self._condition(first=5)
        rows = await connection.fetch(
            f"SELECT c.document_id {_ROWS} AND c.document_id > $3 "
            f"AND {condition} ORDER BY c.document_id LIMIT $4",
            *args[:2],
            after,
            limit,
            *args[2:],
        )
        return [row[0] for row in rows]

    async def lock(self, connection: Connection, document_ids: Sequence[int]) -> list[int]:
        """Those of the ids that match still, smallest first, locked to the transaction's end."""
        condition, args = self._condition(first=4)
        rows = await connection.fetch(
            f"SELECT c.document_id {_ROWS} AND c.document_id = ANY($3::bigint[]) AND {condition} "
            "ORDER BY c.document_id FOR UPDATE",
            *args[:2],
            document_ids,
            *args[2:],
        )
        return [row[0] for row in rows]

    def _condition(self, *, first: int) -> tuple[str, list[Any]]:
        """The condition, and the values of ``$1``, ``$2`` and of those from ``$first`` on."""
        condition = compile_filter(self.node, first=first)
        return f"({condition.sql})", [self.collection_id, self.accepted_by, *condition.args]
