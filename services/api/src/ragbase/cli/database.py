"""The database a command works on: that of DATABASE_URL, or the one of a state folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ragbase.cli.errors import UsageError

if TYPE_CHECKING:
    from ragbase.services.backup.place import Place
    from ragbase.settings import Settings

__all__ = ["DATA_FOLDER", "opened_place"]

DATA_FOLDER = "postgres"
"""Where the embedded Postgres keeps its data, below RAGBASE_HOME."""


@contextmanager
def opened_place(settings: Settings, home: Path | None, *, create: bool) -> Iterator[Place]:
    """The database, its server running for as long as the block.

    ``home`` (the option) names a state folder; ``create`` allows one without data. An embedded
    Postgres that runs already is used as it is.
    """
    from ragbase.embedded import attached
    from ragbase.services.backup.place import Place

    url = settings.database_url.get_secret_value()
    bundled = _bundled_programs()
    if url:
        if home is not None:
            raise UsageError(
                "--home and DATABASE_URL name two different databases",
                "Leave --home out, or unset DATABASE_URL.",
            )
        yield Place(url, settings.pg_bin, bundled)
        return
    data = (home or settings.home) / DATA_FOLDER
    if not create and not data.is_dir():
        raise UsageError(
            f"{data} does not exist, and DATABASE_URL is not set",
            "Set DATABASE_URL to the database's address, or --home to the folder of `ragbase up`.",
        )
    with attached(data) as dsn:
        yield Place(dsn, settings.pg_bin, bundled)


def _bundled_programs() -> Path | None:
    from ragbase.embedded.binaries import locate_binaries
    from ragbase.errors import ConfigurationError

    try:
        return locate_binaries().program("pg_dump").parent
    except ConfigurationError:
        return None
