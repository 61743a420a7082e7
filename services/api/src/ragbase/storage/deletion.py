"""What deletions of many documents ask the database beside deleting itself."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from ragbase.storage.pool import Connection

__all__ = ["database_time", "existing", "first_within"]

_MAX_ID = 2**63 - 1


async def existing(
    connection: Connection, document_ids: Sequence[int], collections: Sequence[str] | None = None
) -> list[int]:
    """Those of the ids that are there, within ``collections`` (names; None: no limit)."""
    rows = await connection.fetch(
        """
        SELECT d.id FROM documents d JOIN collections k ON k.id = d.collection_id
        WHERE d.id = ANY($1::bigint[]) AND ($2::text[] IS NULL OR k.name = ANY($2))
        """,
        _possible(document_ids),
        collections,
    )
    return [row[0] for row in rows]


async def first_within(
    connection: Connection, document_ids: Sequence[int], *, chunks: int
) -> list[int]:
    """The first ids whose documents have at most ``chunks`` chunks together; at least one id."""
    rows = await connection.fetch(
        "SELECT document_id, count(*) FROM chunks WHERE document_id = ANY($1::bigint[]) GROUP BY 1",
        _possible(document_ids),
    )
    counts: dict[int, int] = {row[0]: row[1] for row in rows}
    total = 0
    for position, document_id in enumerate(document_ids):
        total += counts.get(document_id, 0)
        if total > chunks and position:
            return list(document_ids[:position])
    return list(document_ids)


async def database_time(connection: Connection) -> datetime:
    """The server's clock, by which documents and jobs are stamped."""
    found: datetime = await connection.fetchval("SELECT clock_timestamp()")
    return found


def _possible(document_ids: Sequence[int]) -> list[int]:
    """Without ids that no document can have; the driver would refuse some of them."""
    return [number for number in document_ids if 0 < number <= _MAX_ID]
