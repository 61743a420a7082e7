"""Connections to Memgraph or Neo4j over Bolt; with ``bolt*.py`` beside it alone in using the driver.

Values go as parameters, always: labels and relation types are those of this package, and nothing
that a document or a caller says ever becomes a part of a statement.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final, Self, TypeAlias

import neo4j
from neo4j.exceptions import (
    AuthError,
    DriverError,
    Neo4jError,
    ServiceUnavailable,
    SessionExpired,
    TransientError,
)

from ragbase.errors import ConfigurationError, ConflictError, UnavailableError, UpstreamError
from ragbase.graph.bolt_dialects import Dialect, dialect_of

__all__ = ["Bolt", "BoltRefusedError"]

CONNECT_S: Final = 5.0
RETRY_S: Final = 3.0
"""Conflicts are tried again for so long; then the caller knows better, and holds nothing meanwhile."""
_AWAY = "The graph store (MEMGRAPH_URL) does not answer."

# What goes wrong is raised, and told of once by whoever asked; what Neo4j notes about statements whose
# labels are not there yet is of no use to anybody.
logging.getLogger("neo4j").setLevel(logging.CRITICAL)

Parameters: TypeAlias = Mapping[str, Any]


class BoltRefusedError(UpstreamError):
    """The server understood the statement and would not do it: the same call will not work later."""

    code = "graph_store_refused"


class Bolt:
    """One server. Make one with `open`, end it with `close`; connections are made when needed."""

    def __init__(self, driver: neo4j.AsyncDriver, *, read_s: float, write_s: float) -> None:
        self._driver = driver
        self._read_s = read_s
        self._write_s = write_s

    @classmethod
    def open(
        cls,
        url: str,
        *,
        username: str = "",
        password: str = "",
        read_s: float = 1.0,
        write_s: float = 30.0,
        pool_max: int = 10,
    ) -> Self:
        """Raises `ConfigurationError` for an address that cannot be one."""
        try:
            driver = neo4j.AsyncGraphDatabase.driver(
                url,
                auth=(username, password) if username or password else None,
                connection_timeout=CONNECT_S,
                connection_acquisition_timeout=CONNECT_S,
                max_connection_pool_size=pool_max,
                max_transaction_retry_time=RETRY_S,
                keep_alive=True,
                telemetry_disabled=True,
            )
        except (neo4j.exceptions.ConfigurationError, ValueError) as error:
            raise ConfigurationError(f"MEMGRAPH_URL does not work: {error}") from None
        return cls(driver, read_s=read_s, write_s=write_s)

    async def close(self) -> None:
        """End all connections."""
        await self._driver.close()

    async def dialect(self) -> Dialect:
        """Which kind of server answers. Raises `UnavailableError` (``graph_store_unavailable``)."""
        async with self._budget(CONNECT_S):
            return dialect_of((await self._driver.get_server_info()).agent)

    async def read(self, statement: str, **parameters: Any) -> list[list[Any]]:
        """Rows of one statement, in a transaction of its own; bounded by the reading time.

        Raises `UnavailableError` (``graph_store_unavailable``), `BoltRefusedError`.
        """
        async with self._budget(self._read_s):
            return await self._auto(statement, parameters, neo4j.READ_ACCESS, self._read_s)

    async def scan(self, statement: str, **parameters: Any) -> list[list[Any]]:
        """`read`, bounded by the writing time."""
        async with self._budget(self._write_s):
            return await self._auto(statement, parameters, neo4j.READ_ACCESS, self._write_s)

    async def command(self, statement: str) -> None:
        """A change of indexes or constraints, which must not stand in a transaction."""
        async with self._budget(self._write_s):
            await self._auto(statement, {}, neo4j.WRITE_ACCESS, None)

    @asynccontextmanager
    async def _budget(self, seconds: float) -> AsyncIterator[None]:
        with _converted():
            async with asyncio.timeout(seconds):
                yield

    async def _auto(
        self, statement: str, parameters: Parameters, access: str, seconds: float | None
    ) -> list[list[Any]]:
        query = neo4j.Query(statement, timeout=seconds)
        async with self._driver.session(default_access_mode=access, fetch_size=-1) as session:
            result = await session.run(query, dict(parameters))
            return await result.values()

    async def write(
        self, statements: Sequence[tuple[str, Parameters]], *, guarded: bool = False
    ) -> list[list[list[Any]]]:
        """All in one transaction, tried again on a conflict; rows of each.

        ``guarded``: nothing is done where the first has no rows; raises `ConflictError` then.
        """

        async def work(transaction: neo4j.AsyncManagedTransaction) -> list[list[list[Any]]]:
            found: list[list[list[Any]]] = []
            for statement, parameters in statements:
                result = await transaction.run(statement, dict(parameters))
                found.append(await result.values())
                if guarded and not found[0]:
                    raise ConflictError("Another process has become the writer of the projection.")
            return found

        async with (
            self._budget(self._write_s),
            self._driver.session(fetch_size=-1) as session,
        ):
            return await session.execute_write(work)


@contextmanager
def _converted() -> Iterator[None]:
    try:
        yield
    except AuthError as error:
        raise _unavailable(
            "The graph store refuses MEMGRAPH_USERNAME and MEMGRAPH_PASSWORD."
        ) from error
    except (ServiceUnavailable, SessionExpired, TransientError, OSError) as error:
        raise _unavailable(_AWAY) from error  # TimeoutError is an OSError
    except Neo4jError as error:
        raise BoltRefusedError(f"The graph store refused a statement ({error.code}).") from error
    except DriverError as error:
        raise _unavailable(_AWAY) from error


def _unavailable(message: str) -> UnavailableError:
    return UnavailableError(message, code="graph_store_unavailable")
