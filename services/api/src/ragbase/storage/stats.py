"""Counts over everything, each by one pass over a narrow index."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from ragbase.models.jobs import JobState
from ragbase.storage.pool import Connection

__all__ = ["StoredCounts", "count_everything", "storage_bytes"]


@dataclass(slots=True)
class StoredCounts:
    """Of one collection, or of what belongs to none."""

    documents: int = 0
    chunks: int = 0
    entities: int = 0
    relations: int = 0
    jobs: dict[JobState, int] = field(default_factory=dict)


async def count_everything(connection: Connection) -> dict[str | None, StoredCounts]:
    """By name of the collection, empty ones included; None: jobs of no collection."""
    names = await connection.fetch("SELECT id, name FROM collections")
    by_id: dict[int | None, StoredCounts] = defaultdict(StoredCounts)
    for table in ("documents", "chunks", "entities", "relations"):
        rows = await connection.fetch(
            f"SELECT collection_id, count(*) FROM {table} GROUP BY 1"  # noqa: S608 - constants
        )
        for collection_id, count in rows:
            setattr(by_id[collection_id], table, count)
    for collection_id, state, count in await connection.fetch(
        "SELECT collection_id, state, count(*) FROM jobs GROUP BY 1, 2"
    ):
        by_id[collection_id].jobs[state] = count
    # A collection that was made or removed between two statements is left out.
    return {None: by_id[None], **{row["name"]: by_id[row["id"]] for row in names}}


async def storage_bytes(connection: Connection) -> int:
    """Disk space of all tables beside ``documents``, with their indexes and long values."""
    size: int = await connection.fetchval(
        """
        SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
        WHERE relkind IN ('r', 'm') AND relnamespace = (
            SELECT relnamespace FROM pg_class WHERE oid = 'documents'::regclass
        )
        """
    )
    return size
