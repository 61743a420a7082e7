"""Jobs seen from afar: how many there are, and the removal of old ones."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from ragbase.storage.pool import Connection

__all__ = ["JobCount", "count_jobs", "expire_jobs"]

_EXPIRED_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class JobCount:
    """Jobs of one kind and state; ``oldest_s`` is how long the first of those queued has waited."""

    kind: str
    state: str
    count: int
    oldest_s: float


async def count_jobs(connection: Connection) -> list[JobCount]:
    """Counts by kind and state; those that are not there have no row."""
    rows = await connection.fetch(
        """
        SELECT c.kind, c.state, c.count, coalesce(extract(epoch FROM now() - o.oldest), 0)::float8
        FROM (SELECT kind, state, count(*) FROM jobs GROUP BY kind, state) c
        LEFT JOIN (
            SELECT kind, min(created_at) AS oldest FROM jobs WHERE state = 'queued' GROUP BY kind
        ) o ON o.kind = c.kind AND c.state = 'queued'
        """
    )
    return [JobCount(*row) for row in rows]


async def expire_jobs(connection: Connection, *, kept_s: float) -> int:
    """Remove jobs that ended longer ago, with what they were to do; how many, at most 1,000."""
    status = await connection.execute(
        """
        DELETE FROM jobs WHERE id IN (
            SELECT id FROM jobs WHERE finished_at < now() - $1::interval
            ORDER BY finished_at LIMIT $2 FOR UPDATE SKIP LOCKED
        )
        """,
        timedelta(seconds=kept_s),
        _EXPIRED_AT_ONCE,
    )
    return int(status.rpartition(" ")[2])
