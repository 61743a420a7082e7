"""The outbox of the graph's projection: what to look at again, and who wants to know of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias
from uuid import UUID

import asyncpg

from ragbase.storage.codecs import register_codecs
from ragbase.storage.connect import single_connection
from ragbase.storage.pool import Connection

__all__ = [
    "CHANGES_MAX",
    "WANTED_DAYS",
    "Changes",
    "GraphRows",
    "Key",
    "begin_epoch",
    "bound_changes",
    "count_changes",
    "count_graph",
    "drop_changes",
    "forget_wish",
    "last_change",
    "leading",
    "next_fence",
    "note_everything",
    "note_missing",
    "read_epoch",
    "renew_wish",
    "take_changes",
    "tidy_changes",
    "waits",
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
    RETURNING kind, key, target, id
"""
_ENDS = "SELECT source_id, target_id FROM relations WHERE id = ANY($1::bigint[])"
_EVERYTHING = """
    INSERT INTO graph_changes (kind, key, target)
    SELECT 'entity', id, NULL::bigint FROM entities
    UNION ALL SELECT 'concept', id, NULL FROM concepts
    UNION ALL SELECT 'relation', source_id, target_id FROM relations
    UNION ALL SELECT DISTINCT 'concept_relation', source_id, target_id FROM concept_relations
"""
_MISSING = """
    INSERT INTO graph_changes (kind, key, target)
    SELECT kind, key, target
    FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS u (kind, key, target)
    WHERE NOT CASE kind
        WHEN 'entity' THEN EXISTS (SELECT FROM entities WHERE id = u.key)
        WHEN 'concept' THEN EXISTS (SELECT FROM concepts WHERE id = u.key)
        WHEN 'relation' THEN EXISTS (
            SELECT FROM relations WHERE source_id = u.key AND target_id = u.target
        )
        ELSE EXISTS (
            SELECT FROM concept_relations WHERE source_id = u.key AND target_id = u.target
        )
    END
"""
_COUNTS = """
    SELECT (SELECT count(*) FROM entities), (SELECT count(*) FROM relations),
        (SELECT count(*) FROM concepts), (SELECT count(*) FROM concept_relations)
"""
_LEADER: Final = 0x7261_6762_6772_7068
"""Key of the advisory lock of the one projecting process: "ragbgrph" in ASCII."""
_LET_GO: Final = {
    "tcp_keepalives_idle": "30",
    "tcp_keepalives_interval": "10",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "60s",
    "statement_timeout": "65min",
    "idle_session_timeout": "65min",
    "idle_in_transaction_session_timeout": "65min",
}
"""A leader whose machine is gone leads for a minute more, not for the system's two hours; one whose
process stands still, for a little longer than RAGBASE_PROJECTION_TIMEOUT may be. Noting a large graph
may take longer than a database lets statements take by default."""
CHANGES_MAX: Final = 1_000_000
"""More than this are not kept for a projection that is away: it is made anew instead."""


Key: TypeAlias = tuple[str, int, int | None]
"""Kind, key and target, as the outbox holds them."""


class GraphRows(NamedTuple):
    """Counts of rows."""

    entities: int
    relations: int
    concepts: int
    concept_relations: int


@dataclass(slots=True)
class Changes:
    """What to look at again: ids of nodes, (source, target) of relations; each once."""

    entities: set[int] = field(default_factory=set)
    concepts: set[int] = field(default_factory=set)
    relations: set[tuple[int, int]] = field(default_factory=set)
    concept_relations: set[tuple[int, int]] = field(default_factory=set)
    notes: list[int] = field(default_factory=list)
    """Ids of the rows of the outbox that told of them."""

    @property
    def taken(self) -> int:
        """How many rows that were."""
        return len(self.notes)


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


async def forget_wish(connection: Connection) -> None:
    """Have nothing noted any more; the next wish begins a new epoch."""
    await connection.execute("UPDATE graph_projection SET wanted_until = now()")


async def read_epoch(connection: Connection) -> UUID | None:
    """Name of this history of the graph; None while nobody wants its changes."""
    epoch: UUID | None = await connection.fetchval(
        "SELECT epoch FROM graph_projection WHERE wanted_until > now()"
    )
    return epoch


async def next_fence(connection: Connection, used: int = 0) -> int:
    """The number of the next writer of the projection; greater than ``used``.

    ``used``: what the projection has seen. It outlives this database where that is restored from a
    backup, or made anew.
    """
    fence: int = await connection.fetchval(
        "UPDATE graph_projection SET fence = greatest(fence, $1) + 1 RETURNING fence", used
    )
    return fence


async def take_changes(connection: Connection, limit: int) -> Changes:
    """Take at most ``limit`` rows away, oldest first. One taker at a time, in a transaction.

    Its commit does not wait for the disk: notes that come back after a crash are followed again.
    """
    await connection.execute("SET LOCAL synchronous_commit = off")
    found = Changes()
    rows = await connection.fetch(_TAKE, limit)
    ids = {key for kind, key, _, _ in rows if kind == "relation_id"}
    # One that is gone was noted by its ends when it went.
    found.relations.update((row[0], row[1]) for row in await connection.fetch(_ENDS, ids))
    for kind, key, target, note in rows:
        found.notes.append(note)
        if kind == "entity":
            found.entities.add(key)
        elif kind == "concept":
            found.concepts.add(key)
        elif kind == "relation":
            found.relations.add((key, target))
        elif kind == "concept_relation":
            found.concept_relations.add((key, target))
    return found


async def drop_changes(connection: Connection, notes: Sequence[int]) -> None:
    """Take these very notes away, whatever older ones were committed since they were read."""
    await connection.execute("DELETE FROM graph_changes WHERE id = ANY($1::bigint[])", notes)


async def note_everything(connection: Connection) -> None:
    """Note all that is stored."""
    await connection.execute(_EVERYTHING)


async def note_missing(connection: Connection, keys: Sequence[Key]) -> None:
    """Note those of the keys that are not stored any more."""
    columns = [[key[column] for key in keys] for column in range(3)]
    await connection.execute(_MISSING, *columns)


async def count_changes(connection: Connection, upto: int | None = None) -> int:
    """Notes that wait; ``upto``: of those with an id not greater."""
    count: int = await connection.fetchval(
        "SELECT count(*) FROM graph_changes WHERE $1::bigint IS NULL OR id <= $1", upto
    )
    return count


async def waits(connection: Connection, upto: int) -> bool:
    """Whether a note waits whose id is not greater."""
    first: int | None = await connection.fetchval("SELECT min(id) FROM graph_changes")
    return first is not None and first <= upto


async def last_change(connection: Connection) -> int:
    """Id of the newest note; 0 where none waits."""
    newest: int = await connection.fetchval("SELECT coalesce(max(id), 0) FROM graph_changes")
    return newest


async def bound_changes(connection: Connection) -> bool:
    """Take all notes away where there are too many, and begin a new epoch: whatever is projected is
    made anew. Whether it was so."""
    many = await _more_than(connection, CHANGES_MAX)
    if many:  # making a large graph anew takes as many notes: that alone must not begin it again
        many = await _more_than(
            connection, max(CHANGES_MAX, 2 * sum(await count_graph(connection)))
        )
    if many:
        await connection.execute("DELETE FROM graph_changes")
        await connection.execute("UPDATE graph_projection SET epoch = gen_random_uuid()")
    return many


async def _more_than(connection: Connection, most: int) -> bool:
    many: bool = await connection.fetchval(
        "SELECT EXISTS (SELECT FROM graph_changes OFFSET $1)", most
    )
    return many


async def tidy_changes(connection: Connection) -> None:
    """Where nobody projects: remove notes that nobody wants any more, and bound those that somebody
    may yet want. In a transaction; any process may do so.
    """
    if not await connection.fetchval("SELECT pg_try_advisory_xact_lock($1)", _LEADER):
        return  # it takes them away itself
    # One statement: what it sees without a wish was noted for none that is still to come.
    await connection.execute(
        "DELETE FROM graph_changes "
        "WHERE NOT EXISTS (SELECT FROM graph_projection WHERE wanted_until > now())"
    )
    await bound_changes(connection)


async def begin_epoch(connection: Connection) -> None:
    """Tell projections of this database's past that they are none of its present (a restore)."""
    await connection.execute("UPDATE graph_projection SET epoch = gen_random_uuid()")


async def count_graph(connection: Connection) -> GraphRows:
    """How much there is to project."""
    row = await connection.fetchrow(_COUNTS)
    assert row is not None
    return GraphRows(*row)


@asynccontextmanager
async def leading(dsn: str) -> AsyncIterator[Connection | None]:
    """A connection of its own whose session is the one that projects; None: another is.

    Raises `DatabaseUnavailableError`, also when the connection is lost meanwhile.
    """
    async with single_connection(
        dsn,
        wait_s=0,
        settings={
            "application_name": "ragbase-projection",
            "plan_cache_mode": "force_custom_plan",
            **_LET_GO,
        },
    ) as connection:
        await register_codecs(connection, None)
        first = await connection.fetchval("SELECT pg_try_advisory_lock($1)", _LEADER)
        yield connection if first else None
