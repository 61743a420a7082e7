"""Whether a database is free to be restored into, and making it so."""

from __future__ import annotations

from dataclasses import dataclass

import asyncpg

from ragbase.storage.migrations.scripts import branch_of
from ragbase.storage.migrations.state import read_revisions
from ragbase.storage.snapshot import table_names

__all__ = ["Contents", "drop_everything", "find_contents", "missing_extensions", "our_sessions"]

_FURNITURE = (
    "alembic_version",
    "collections",
    "embedding_models",
    "bm25_guard",
    "graph_projection",
)
"""Tables that hold rows in a RagBase that nothing was ever stored in."""

_OBJECTS = """
WITH objects (classid, oid, schema, kind, name) AS (
    SELECT 'pg_class'::regclass, c.oid, n.nspname,
        CASE c.relkind
            WHEN 'r' THEN 'table' WHEN 'p' THEN 'table' WHEN 'v' THEN 'view'
            WHEN 'm' THEN 'materialized view' WHEN 'S' THEN 'sequence'
            WHEN 'f' THEN 'foreign table' ELSE 'type'
        END,
        format('%I.%I', n.nspname, c.relname)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f', 'c')
    UNION ALL
    SELECT 'pg_proc'::regclass, p.oid, n.nspname, 'routine', p.oid::regprocedure::text
    FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
    UNION ALL
    SELECT 'pg_type'::regclass, t.oid, n.nspname,
        CASE t.typtype WHEN 'd' THEN 'domain' ELSE 'type' END, format_type(t.oid, NULL)
    FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
    WHERE t.typtype IN ('d', 'e', 'r')
)
SELECT o.kind, o.name
FROM objects o
WHERE o.schema !~ '^pg_' AND o.schema <> 'information_schema'
    AND NOT EXISTS (
        SELECT FROM pg_depend d
        WHERE d.classid = o.classid AND d.objid = o.oid AND d.deptype IN ('e', 'i', 'a')
    )
ORDER BY o.kind = 'table' DESC, o.kind, o.name
"""
"""What belongs to an extension (e), or goes with what it belongs to (i, a), does not count."""

_COUNT = "SELECT count(*) FROM ONLY {}"

_SESSIONS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND usesysid IS NOT NULL
    AND application_name LIKE 'ragbase%'
"""

_MISSING = """
SELECT wanted FROM unnest($1::text[]) AS wanted
WHERE wanted NOT IN (SELECT name FROM pg_available_extensions)
ORDER BY 1
"""


@dataclass(frozen=True, slots=True)
class Contents:
    """``objects`` are kinds and names, tables first; ``rows`` counts those of filled tables.

    ``unused`` is a RagBase in which nothing was stored: as good as empty.
    """

    objects: tuple[tuple[str, str], ...]
    rows: dict[str, int]
    unused: bool

    @property
    def empty(self) -> bool:
        """Whether there is nothing at all but extensions."""
        return not self.objects

    def described(self, most: int = 6) -> str:
        """The first few, with rows where there are any."""
        said = [
            f"{kind} {name}" + (f" ({self.rows[name]:,} rows)" if name in self.rows else "")
            for kind, name in sorted(self.objects, key=lambda each: -self.rows.get(each[1], 0))
        ]
        more = len(said) - most
        return ", ".join(said[:most]) + (f" and {more} more" if more > 0 else "")


async def find_contents(connection: asyncpg.Connection) -> Contents:
    """What stands in the database besides extensions; counts the rows."""
    objects = tuple((row[0], row[1]) for row in await connection.fetch(_OBJECTS))
    counts = {
        table: await connection.fetchval(_COUNT.format(table))
        for table in await table_names(connection)
    }
    rows = {table: count for table, count in counts.items() if count}
    revisions = await read_revisions(connection)
    ours = bool(revisions) and all(branch_of(revision) for revision in revisions)
    furniture = all(table.rpartition(".")[2] in _FURNITURE for table in rows)
    unused = ours and furniture and await _only_default_collection(connection)
    return Contents(objects, rows, unused)


async def _only_default_collection(connection: asyncpg.Connection) -> bool:
    return not await connection.fetchval(
        "SELECT EXISTS (SELECT FROM collections WHERE name <> 'default')"
    )


async def drop_everything(connection: asyncpg.Connection) -> None:
    """Drop all that `find_contents` finds, in one transaction; extensions stay."""
    async with connection.transaction():
        while objects := await connection.fetch(_OBJECTS + " LIMIT 1"):
            kind, name = objects[0]
            await connection.execute(f"DROP {kind} {name} CASCADE")


async def missing_extensions(connection: asyncpg.Connection, wanted: list[str]) -> list[str]:
    """Those that the server does not have."""
    return [row[0] for row in await connection.fetch(_MISSING, wanted)]


async def our_sessions(connection: asyncpg.Connection) -> int:
    """Connections that an API, a worker, a migration or another restore has to this database."""
    count: int = await connection.fetchval(_SESSIONS)
    return count
