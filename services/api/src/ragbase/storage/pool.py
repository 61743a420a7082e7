"""The pool of database connections, with the session settings that search depends on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Self, TypeAlias, cast

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from ragbase.errors import OverloadedError
from ragbase.storage.codecs import find_vector_schema, register_codecs
from ragbase.storage.connect import single_connection
from ragbase.storage.faults import converted_faults
from ragbase.telemetry import metrics
from ragbase.telemetry.logs import get_logger

__all__ = ["Connection", "Database", "session_settings"]

_log = get_logger("ragbase.database")

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
"""What storage and retrieval functions take; a pooled connection serves as one."""


def session_settings(
    *, statement_timeout_s: float, ef_search: int, application_name: str = "ragbase"
) -> dict[str, str]:
    """Settings sent in the start-up packet.

    They become the session's defaults, which ``RESET ALL`` restores.
    (PgBouncer passes only what its ``ignore_startup_parameters`` or ``track_extra_parameters``
    name: point DATABASE_URL at Postgres itself, or set these on the role.)
    """
    return {
        "application_name": application_name,
        # Generic plans ignore the values that lexical and vector plans depend on.
        "plan_cache_mode": "force_custom_plan",
        "hnsw.ef_search": str(ef_search),
        "hnsw.iterative_scan": "strict_order",
        # What ``%`` takes for alike, see ragbase.graph.entity_names; 0.3 finds half the table.
        "pg_trgm.similarity_threshold": "0.6",
        "jit": "off",
        "max_parallel_workers_per_gather": "0",
        "statement_timeout": str(round(statement_timeout_s * 1000)),
    }


_SET_LOCAL = """
    SELECT set_config(name, value, true)
    FROM unnest($1::text[], $2::text[]) AS setting (name, value)
"""


class Database:
    """Connections to one Postgres. Make one with `open`, end it with `close`.

    Connections that broke are replaced when next asked for, so a restart of the server costs
    the requests that were under way and nothing else.
    """

    def __init__(
        self,
        pool: asyncpg.Pool[asyncpg.Record],
        *,
        acquire_timeout_s: float,
        write_timeout_s: float,
    ) -> None:
        self._pool = pool
        self._acquire_timeout_s = acquire_timeout_s
        self._write_turns = asyncio.Semaphore(max(1, pool.get_max_size() // 2))
        self._releases: set[asyncio.Task[None]] = set()
        self._writing = {"statement_timeout": str(round(write_timeout_s * 1000))}

    @classmethod
    async def open(
        cls,
        dsn: str,
        *,
        min_size: int = 2,
        max_size: int = 10,
        statement_timeout_s: float = 30.0,
        write_timeout_s: float = 600.0,
        ef_search: int = 100,
        application_name: str = "ragbase",
        acquire_timeout_s: float = 30.0,
        start_timeout_s: float = 30.0,
    ) -> Self:
        """Connect, trying again for ``start_timeout_s`` while the server is not there yet.

        ``statement_timeout_s`` bounds each statement of `read`, ``write_timeout_s`` those of
        `transaction`. Raises `DatabaseUnavailableError` or, when waiting cannot help,
        `ConfigurationError`.
        """
        settings = session_settings(
            statement_timeout_s=statement_timeout_s,
            ef_search=ef_search,
            application_name=application_name,
        )
        async with single_connection(dsn, wait_s=start_timeout_s) as probe:
            schema = await find_vector_schema(probe)
        with converted_faults():
            pool = await _open_pool(dsn, min_size, max_size, settings, schema)
        return cls(pool, acquire_timeout_s=acquire_timeout_s, write_timeout_s=write_timeout_s)

    async def close(self) -> None:
        """Close all connections; those in use get a few seconds."""
        try:
            async with asyncio.timeout(10):
                await asyncio.gather(*self._releases, return_exceptions=True)
                await self._pool.close()
        except TimeoutError:
            self._pool.terminate()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def in_use(self) -> int:
        """Connections handed out now."""
        return self._pool.get_size() - self._pool.get_idle_size()

    @property
    def size(self) -> int:
        """Connections open now."""
        return self._pool.get_size()

    @asynccontextmanager
    async def acquire(self) -> AsyncIterator[Connection]:
        """A connection without a transaction around it: each statement is its own.

        It goes back as it is, but for an open transaction, which is rolled back: asyncpg's reset
        would cost every search two more round trips. So session state (``SET``, ``LISTEN``,
        session-level advisory locks) must not outlive the block; ``SET LOCAL`` is the way.
        """
        with converted_faults():
            with metrics.POOL_WAIT.time():
                connection = await self._pool.acquire(timeout=self._acquire_timeout_s)
            try:
                yield cast("Connection", connection)
            finally:
                self._give_back(connection)

    def _give_back(self, connection: PoolConnectionProxy[asyncpg.Record]) -> None:
        """Release behind the caller's back: a transaction left open costs a round trip."""
        task = asyncio.create_task(self._pool.release(connection))
        self._releases.add(task)
        task.add_done_callback(self._released)

    def _released(self, task: asyncio.Task[None]) -> None:
        self._releases.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            # The pool has closed this connection and makes another when it is needed.
            _log.warning("connection_lost_on_release", reason=type(error).__name__)

    read = acquire
    """The same, by the name of what it is for."""

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """A connection inside a transaction: committed at the end, rolled back on any error.

        Half of the pool at most is in transactions, so that writers never keep readers waiting.
        Raises `OverloadedError` when no turn came in time.
        """
        async with (
            self._write_turn(),
            self.acquire() as connection,
            connection.transaction(),
        ):
            await connection.execute(_SET_LOCAL, *zip(*self._writing.items(), strict=True))
            yield connection

    @asynccontextmanager
    async def _write_turn(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self._acquire_timeout_s):
                await self._write_turns.acquire()
        except TimeoutError:
            raise OverloadedError(
                "Too many writes wait for the database; try again shortly."
            ) from None
        try:
            yield
        finally:
            self._write_turns.release()

    def write_with(self, settings: Mapping[str, str]) -> None:
        """Session settings that hold in each `transaction` from now on."""
        self._writing.update(settings)

    async def ping(self) -> None:
        """Return when the database answers, else raise `DatabaseUnavailableError`."""
        async with self.acquire() as connection:
            await connection.fetchval("SELECT 1")


async def _open_pool(
    dsn: str, min_size: int, max_size: int, settings: dict[str, str], vector_schema: str | None
) -> asyncpg.Pool[asyncpg.Record]:
    async def prepare(connection: Any) -> None:
        # Before the first migration there is no type vector; connections made later know it.
        await register_codecs(connection, vector_schema or await find_vector_schema(connection))

    return await asyncpg.create_pool(
        dsn,
        min_size=min(min_size, max_size),
        max_size=max_size,
        server_settings=settings,
        init=prepare,
        reset=_as_it_is,
        timeout=10,
    )


async def _as_it_is(_: object) -> None:
    """See `Database.acquire`; asyncpg itself ends transactions and listeners before this."""
