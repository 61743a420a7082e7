"""Rows of ``api_keys``. No secret is here, only hashes of keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import asyncpg

from ragbase.models.access import Scope
from ragbase.models.keys import ApiKey
from ragbase.storage.pool import Connection

__all__ = ["any_usable_key", "find_keys", "insert_key", "list_keys", "mark_used", "revoke_key"]

_COLUMNS = "key_id, name, secret_hash, scopes, collections, created_at, expires_at, last_used_at, revoked_at"
"""In the order of `ApiKey`'s fields."""


async def insert_key(
    connection: Connection,
    *,
    key_id: str,
    name: str,
    secret_hash: bytes,
    scopes: Sequence[Scope],
    collections: Sequence[str] | None,
    expires_at: datetime | None,
) -> ApiKey:
    """Store a key."""
    row = await connection.fetchrow(
        "INSERT INTO api_keys (key_id, name, secret_hash, scopes, collections, expires_at) "  # noqa: S608 - constants
        f"VALUES ($1, $2, $3, $4, $5, $6) RETURNING {_COLUMNS}",
        key_id,
        name,
        secret_hash,
        list(scopes),
        collections,
        expires_at,
    )
    assert row is not None
    return _key(row)


async def find_keys(connection: Connection, key_ids: Sequence[str]) -> dict[str, ApiKey]:
    """Those of these ids that exist, revoked ones included."""
    rows = await connection.fetch(
        f"SELECT {_COLUMNS} FROM api_keys WHERE key_id = ANY($1::text[])",  # noqa: S608 - constants
        list(key_ids),
    )
    return {row["key_id"]: _key(row) for row in rows}


async def list_keys(connection: Connection, *, offset: int, limit: int) -> tuple[list[ApiKey], int]:
    """A page of keys, newest first, and how many there are."""
    total: int = await connection.fetchval("SELECT count(*) FROM api_keys")
    rows = await connection.fetch(
        f"SELECT {_COLUMNS} FROM api_keys ORDER BY id DESC OFFSET $1 LIMIT $2",  # noqa: S608 - constants
        offset,
        limit,
    )
    return [_key(row) for row in rows], total


async def revoke_key(connection: Connection, key_id: str) -> ApiKey | None:
    """End a key; one that has ended keeps its time. None when there is no such key."""
    row = await connection.fetchrow(
        "UPDATE api_keys SET revoked_at = coalesce(revoked_at, now()) WHERE key_id = $1 "  # noqa: S608 - constants
        f"RETURNING {_COLUMNS}",
        key_id,
    )
    return None if row is None else _key(row)


async def mark_used(connection: Connection, used: Mapping[str, datetime]) -> None:
    """Note when keys were used last; later notes of other replicas stay.

    A row that another replica is writing now is left to it, so that none waits.
    """
    await connection.execute(
        """
        WITH used AS (SELECT * FROM unnest($1::text[], $2::timestamptz[]) AS u (key_id, at)),
        free AS (
            SELECT k.id, used.at FROM api_keys k JOIN used ON used.key_id = k.key_id
            WHERE k.last_used_at IS NULL OR k.last_used_at < used.at
            ORDER BY k.id FOR UPDATE OF k SKIP LOCKED
        )
        UPDATE api_keys k SET last_used_at = free.at FROM free WHERE k.id = free.id
        """,
        list(used),
        list(used.values()),
    )


async def any_usable_key(connection: Connection) -> bool:
    """Whether there is a key that has neither ended nor expired."""
    found: bool = await connection.fetchval(
        "SELECT EXISTS (SELECT FROM api_keys WHERE revoked_at IS NULL "
        "AND (expires_at IS NULL OR expires_at > now()))"
    )
    return found


def _key(row: asyncpg.Record) -> ApiKey:
    collections = row["collections"]
    return ApiKey(
        key_id=row["key_id"],
        name=row["name"],
        secret_hash=row["secret_hash"],
        scopes=tuple(row["scopes"]),
        collections=None if collections is None else tuple(collections),
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        last_used_at=row["last_used_at"],
        revoked_at=row["revoked_at"],
    )
