"""What kind of Postgres this is: for people who look for the reason why something fails."""

from __future__ import annotations

from dataclasses import dataclass

from ragbase.storage.pool import Connection

__all__ = ["Extension", "ServerFacts", "read_server_facts"]


@dataclass(frozen=True, slots=True)
class Extension:
    """Versions of an extension: the one the server offers, and the one set up in the database."""

    available: str | None = None
    installed: str | None = None


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """``version`` as the server prints it, like ``18.1``; ``extensions`` by name."""

    version: str
    database: str
    extensions: dict[str, Extension]


async def read_server_facts(connection: Connection, extensions: tuple[str, ...]) -> ServerFacts:
    """Read them; an extension that the server does not have is there with no version."""
    version, database = await connection.fetchrow(  # type: ignore[misc]  # one row always
        "SELECT split_part(current_setting('server_version'), ' ', 1), current_database()"
    )
    rows = await connection.fetch(
        "SELECT name, default_version, installed_version FROM pg_available_extensions "
        "WHERE name = ANY($1::text[])",
        list(extensions),
    )
    found = {row[0]: Extension(row[1], row[2]) for row in rows}
    return ServerFacts(
        version, database, {name: found.get(name, Extension()) for name in extensions}
    )
