"""The outbox of the graph's projection: what to look at again, and who wants to know of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

import asyncpg

from ragbase.storage.pool import Connection

__all__ = [
    "WANTED_DAYS",
    "Changes",
    "count_changes",
    "forget_changes",
    "next_fence",
    "note_everything",
    "note_keys",
    "read_epoch",
    "renew_wish",
    "take_changes",
    "want_changes",
]

WANTED_DAYS: Final = 7
"""Changes are noted for so long after the last sign of a projection."""
_LOCK_WAIT: Final = "200ms"
"""Shorter than deadlock_timeout: whoever waits in a circle with us goes on."""

_WANT = f"""
    INSERT INTO graph_projection AS p (wanted_until)
    VALUES (now() + interval '{WANTED_DAYS} days')
    ON CONFLICT (one) DO UPDATE SET wanted_until = excluded.wanted_until,
        epoch = CASE WHEN p.wanted_until > now() THEN p.epoch ELSE gen_random_uuid() END
    RETURNING epoch
"""  # noqa: S608 - a constant
_RENEW = f"""
    UPDATE graph_projection SET wanted_until = now() + interval '{WANTED_DAYS} days'
    WHERE wanted_until > now()
"""  # noqa: S608 - a constant
_TAKE = """
    DELETE FROM graph_changes WHERE id IN (SELECT id FROM graph_changes ORDER BY id LIMIT $1)
    RETURNING kind, key, target
"""
_EVERYTHING = """
    INSERT INTO graph_changes (kind, key, target)
    SELECT 'entity', id, NULL::bigint FROM entities
    UNION ALL SELECT 'concept', id, NULL FROM concepts
    UNION ALL SELECT 'relation', source_id, target_id FROM relations
    UNION ALL SELECT DISTINCT 'concept_relation', source_id, target_id FROM concept_relations
"""
_KEYS = """
    INSERT INTO graph_changes (kind, key, target)
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[])
"""


@dataclass(slots=True)
class Changes:
    """What to look at again: ids of nodes, (source, target) of relations; each once."""

    entities: set[int] = field(default_factory=set)
    concepts: set[int] = field(default_factory=set)
    relations: set[tuple[int, int]] = field(default_factory=set)
    concept_relations: set[tuple[int, int]] = field(default_factory=set)
    taken: int = 0
    """Rows of the outbox that told of them."""

    def rows(self) -> list[tuple[str, int, int | None]]:
        """(kind, key, target), as the outbox holds them."""
        return [
            *(("entity", key, None) for key in sorted(self.entities)),
            *(("concept", key, None) for key in sorted(self.concepts)),
            *(("relation", *pair) for pair in sorted(self.relations)),
            *(("concept_relation", *pair) for pair in sorted(self.concept_relations)),
        ]


async def want_changes(connection: Connection) -> UUID | None:
    """Have changes noted from now on; the epoch of the graph, or None: busy, try again.

    A new epoch where changes went unnoted before. Where nothing was noted until now, this waits for
    the transactions that are under way, which did not note what they changed. In a transaction.
    """
    if await connection.execute(_RENEW) == "UPDATE 0":
        try:
            async with connection.transaction():
                await connection.execute(f"SET LOCAL lock_timeout = '{_LOCK_WAIT}'")
                await connection.execute("LOCK TABLE graph_projection IN ACCESS EXCLUSIVE MODE")
        except asyncpg.LockNotAvailableError:
            return None
    epoch: UUID = await connection.fetchval(_WANT)
    return epoch


async def renew_wish(connection: Connection) -> None:
    """Have changes noted for another `WANTED_DAYS`."""
    await connection.execute(_RENEW)


async def read_epoch(connection: Connection) -> UUID | None:
    """Name of this history of the graph; None while nobody wants its changes."""
    epoch: UUID | None = await connection.fetchval(
        "SELECT epoch FROM graph_projection WHERE wanted_until > now()"
    )
    return epoch


async def next_fence(connection: Connection) -> int:
    """The number of the next writer of the projection."""
    fence: int = await connection.fetchval(
        "UPDATE graph_projection SET fence = fence + 1 RETURNING fence"
    )
    return fence


async def take_changes(connection: Connection, limit: int) -> Changes:
    """Take at most ``limit`` rows away, oldest first. One taker at a time, in a transaction."""
    found = Changes()
    rows = await connection.fetch(_TAKE, limit)
    for kind, key, target in rows:
        if kind == "entity":
            found.entities.add(key)
        elif kind == "concept":
            found.concepts.add(key)
        elif kind == "relation":
            found.relations.add((key, target))
        else:
            found.concept_relations.add((key, target))
    found.taken = len(rows)
    return found


async def note_everything(connection: Connection) -> None:
    """Note all that is stored."""
    await connection.execute(_EVERYTHING)


async def note_keys(connection: Connection, keys: Sequence[tuple[str, int, int | None]]) -> None:
    """Note these: (kind, key, target)."""
    columns = [[key[column] for key in keys] for column in range(3)]
    await connection.execute(_KEYS, *columns)


async def count_changes(connection: Connection) -> int:
    """Rows that wait."""
    count: int = await connection.fetchval("SELECT count(*) FROM graph_changes")
    return count


async def forget_changes(connection: Connection) -> None:
    """Take all away and begin a new epoch: whatever is projected is made anew."""
    await connection.execute("DELETE FROM graph_changes")
    await connection.execute("UPDATE graph_projection SET epoch = gen_random_uuid()")
