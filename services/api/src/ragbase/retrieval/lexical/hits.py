"""Reads the rows of either dialect's statement."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ragbase.models.domain import Hit

if TYPE_CHECKING:
    import asyncpg

__all__ = ["read_hits"]


def read_hits(rows: Iterable[asyncpg.Record]) -> list[Hit]:
    """Rows of chunk_id, document_id, score, in their order."""
    return [Hit(chunk_id, document_id, float(score)) for chunk_id, document_id, score in rows]
