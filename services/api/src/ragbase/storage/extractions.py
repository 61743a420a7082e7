"""Rows of ``extractions``: what language models answered, by a hash of all that was asked.

A row that names a document goes with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

import asyncpg

from ragbase.storage.pool import Connection

__all__ = ["bind_answers", "expire_answers", "keep_answer", "read_answers"]

_EXPIRED_AT_ONCE = 10_000


async def read_answers(connection: Connection, keys: Sequence[bytes]) -> dict[bytes, Any]:
    """Results by key; keys without one are left out."""
    rows = await connection.fetch(
        "SELECT key, result FROM extractions WHERE key = ANY($1::bytea[])", list(keys)
    )
    return {row[0]: row[1] for row in rows}


async def keep_answer(
    connection: Connection,
    key: bytes,
    purpose: str,
    result: Mapping[str, Any],
    document_id: int | None = None,
) -> None:
    """Store a result, unless its document is gone. Texts must be free of NUL."""
    with suppress(asyncpg.ForeignKeyViolationError):
        await connection.execute(
            """
            INSERT INTO extractions (key, purpose, document_id, result) VALUES ($1, $2, $3, $4)
            ON CONFLICT (key) DO UPDATE SET created_at = now()
            """,
            key,
            purpose,
            document_id,
            dict(result),
        )


async def bind_answers(connection: Connection, keys: Sequence[bytes], document_id: int) -> None:
    """From now on unbound results of these keys go with the document."""
    await connection.execute(
        "UPDATE extractions SET document_id = $2 "
        "WHERE key = ANY($1::bytea[]) AND document_id IS NULL",
        list(keys),
        document_id,
    )


async def expire_answers(connection: Connection, *, kept_s: float) -> None:
    """Remove results that nobody asked for since; at most 10,000 at once."""
    await connection.execute(
        """
        DELETE FROM extractions WHERE key IN (
            SELECT key FROM extractions WHERE created_at < now() - $1::interval
            ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED
        )
        """,
        timedelta(seconds=kept_s),
        _EXPIRED_AT_ONCE,
    )
