"""Turns the driver's errors into ours, once, at the edge of storage.

What the database or the network did becomes `DatabaseUnavailableError`, a passed time limit
`DeadlineExceededError`, a wrong address or password `ConfigurationError`. Errors of a statement
(unique violations, …) pass through: whoever wrote the statement knows what they mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg

from ragbase.errors import (
    ConfigurationError,
    DatabaseUnavailableError,
    DeadlineExceededError,
    UnavailableError,
)

__all__ = ["converted_faults"]

_GONE = (
    asyncpg.PostgresConnectionError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
    asyncpg.TooManyConnectionsError,
    asyncpg.DiskFullError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.IdleSessionTimeoutError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    OSError,
)
"""TimeoutError is an OSError: the driver raises it for connects and for waits on the pool."""

_MISCONFIGURED = (
    asyncpg.InvalidAuthorizationSpecificationError,  # includes InvalidPasswordError
    asyncpg.InvalidCatalogNameError,
    asyncpg.ClientConfigurationError,
)


@contextmanager
def converted_faults() -> Iterator[None]:
    """Raise our errors for the driver's, keeping the driver's as cause."""
    try:
        yield
    except _MISCONFIGURED as error:
        raise ConfigurationError(f"DATABASE_URL does not work: {error}") from error
    except asyncpg.QueryCanceledError as error:
        raise DeadlineExceededError("The database took too long.") from error
    except asyncpg.DeadlockDetectedError as error:
        raise UnavailableError(
            "Two changes met in the database; the same request may work now.",
            code="database_deadlock",
        ) from error
    except _GONE as error:
        raise DatabaseUnavailableError("The database is not available.") from error
    except asyncpg.InternalClientError as error:
        # The server's farewell was read, the end of the connection not yet.
        raise DatabaseUnavailableError("The database connection was lost.") from error
    except asyncpg.InterfaceError as error:
        if not _connection_lost(error):
            raise
        raise DatabaseUnavailableError("The database connection was lost.") from error


def _connection_lost(error: asyncpg.InterfaceError) -> bool:
    """Whether the driver complains of a dead connection, not of a wrong call."""
    text = str(error)
    return "connection is closed" in text or "pool is clos" in text or "released back" in text
