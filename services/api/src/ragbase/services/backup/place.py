"""The database that is backed up or restored into, and what tells how far that is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Place", "Progress", "Report", "silent"]


@dataclass(frozen=True, slots=True)
class Place:
    """A database, and where Postgres' client programs are looked for.

    ``pg_bin`` is the only folder if given; else ``bundled`` (programs that came with this
    installation) and the PATH. ``wait_s``: patience for a server that is still starting.
    """

    dsn: str
    pg_bin: Path | None = None
    bundled: Path | None = None
    wait_s: float = 30.0


@dataclass(frozen=True, slots=True)
class Progress:
    """What is being worked on; ``done`` and ``total`` count bytes while dumping, else things."""

    stage: str
    item: str = ""
    done: int = 0
    total: int | None = None


Report = Callable[[Progress], None]


def silent(progress: Progress) -> None:
    """Reports nothing."""
