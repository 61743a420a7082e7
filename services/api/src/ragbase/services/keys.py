"""Making, listing and revoking API keys."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from ragbase.errors import InvalidInputError, NotFoundError
from ragbase.models.keys import ApiKey, KeyCreated, KeyIn, KeyOut
from ragbase.services.keys_format import new_key
from ragbase.storage import api_keys as store
from ragbase.storage.pool import Database
from ragbase.text.clean import clean_text

__all__ = ["KeyService"]

LIFE_MAX = timedelta(days=36_500)


class KeyService:
    """Stored keys. ``on_change`` is told the id of a key that was made or revoked."""

    def __init__(
        self, database: Database, on_change: Callable[[str], None] = lambda _: None
    ) -> None:
        self._database = database
        self._on_change = on_change

    async def create(self, wanted: KeyIn) -> KeyCreated:
        """Make a key; the answer is the only place that ever holds its secret."""
        name = clean_text(wanted.name, "name").strip()
        if not name:
            raise InvalidInputError("name is blank.", code="blank", field="name")
        _check_end(wanted.expires_at)
        made = new_key()
        async with self._database.transaction() as connection:
            stored = await store.insert_key(
                connection,
                key_id=made.key_id,
                name=name,
                secret_hash=made.secret_hash,
                scopes=sorted(set(wanted.scopes)),
                collections=None if wanted.collections is None else sorted(set(wanted.collections)),
                expires_at=wanted.expires_at,
            )
        self._on_change(made.key_id)
        return KeyCreated(**_to_out(stored).model_dump(), key=made.text)

    async def page(self, *, offset: int, limit: int) -> tuple[list[KeyOut], int]:
        """Newest first, revoked ones included, and how many there are in all."""
        async with self._database.read() as connection:
            rows, total = await store.list_keys(connection, offset=offset, limit=limit)
        return [_to_out(row) for row in rows], total

    async def get(self, key_id: str) -> KeyOut:
        """One key. Raises `NotFoundError`."""
        async with self._database.read() as connection:
            found = await store.find_keys(connection, [key_id])
        if key_id not in found:
            raise _not_found()
        return _to_out(found[key_id])

    async def revoke(self, key_id: str) -> KeyOut:
        """End a key for good; again changes nothing. Raises `NotFoundError`."""
        async with self._database.transaction() as connection:
            ended = await store.revoke_key(connection, key_id)
        self._on_change(key_id)
        if ended is None:
            raise _not_found()
        return _to_out(ended)


def _check_end(end: datetime | None) -> None:
    now = datetime.now(UTC)
    if end is not None and not now < end < now + LIFE_MAX:
        raise InvalidInputError(
            "expires_at must lie in the future, at most 100 years away.",
            code="invalid_expiry",
            field="expires_at",
        )


def _not_found() -> NotFoundError:
    return NotFoundError(
        "There is no stored key of this id. Keys given by settings end with their setting.",
        code="key_not_found",
    )


def _to_out(key: ApiKey) -> KeyOut:
    return KeyOut(
        id=key.key_id,
        name=key.name,
        scopes=list(key.scopes),
        collections=None if key.collections is None else list(key.collections),
        created_at=key.created_at,
        expires_at=key.expires_at,
        last_used_at=key.last_used_at,
        revoked_at=key.revoked_at,
    )
