"""Reads the rows of either dialect's statement."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ragbase.models.domain import Hit

if TYPE_CHECKING:
    import asyncpg

__all__ = ["read_hits"]


def read_hits(rows: Iterable[asyncpg.Record]) -> list[Hit]:
    """Rows that begin with chunk_id, score, in their order."""
    return [Hit(row[0], float(row[1])) for row in rows]
