"""Checks the key of a request: a hash and a look into memory on the hot path."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from ragbase.errors import RagBaseError, UnauthenticatedError
from ragbase.models.access import Access
from ragbase.models.keys import ApiKey
from ragbase.services.background import end
from ragbase.services.keys_format import hash_key, key_id_of
from ragbase.services.keys_lookup import KeyLookup
from ragbase.storage import api_keys as store
from ragbase.storage.pool import Database
from ragbase.telemetry.logs import get_logger

__all__ = ["KeyVerifier"]

MARK_EVERY_S = 60.0
_NO_HASH = bytes(32)
_INVALID = "This API key is not valid: mistyped, revoked, or of another server."

_log = get_logger("ragbase.keys")


class KeyVerifier:
    """Tells who bears a key. Keys given by the settings come before stored ones.

    A stored key found good is trusted for some seconds (`KeyLookup`), also while the database is
    away. When it was used last is written in the background, at most once a minute.
    """

    def __init__(
        self, database: Database, given: Mapping[str, ApiKey], lookup: KeyLookup | None = None
    ) -> None:
        self._database = database
        self._given = given
        self._lookup = lookup or KeyLookup(self._find)
        self._used: dict[str, datetime] = {}
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begin to write down when keys were used."""
        self._tasks = [asyncio.create_task(self._keep_marking())]

    async def stop(self) -> None:
        """Write down what is not yet, and end."""
        await end(self._tasks)
        await self._lookup.stop()
        await self._mark()

    async def verify(self, key: str) -> Access:
        """What the key's bearer may do.

        Raises `UnauthenticatedError` (``invalid_key``, ``expired_key``), and
        `DatabaseUnavailableError` when that cannot be told now.
        """
        key_id = key_id_of(key)
        if key_id is None:
            raise UnauthenticatedError(_INVALID, code="invalid_key")
        known = self._given.get(key_id) or await self._lookup.get(key_id)
        # Also for an unknown id: how long an answer takes must not tell which ids exist.
        same = hmac.compare_digest(hash_key(key), _NO_HASH if known is None else known.secret_hash)
        if known is None or not same or known.revoked_at is not None:
            raise UnauthenticatedError(_INVALID, code="invalid_key")
        now = datetime.now(UTC)
        if known.expires_at is not None and known.expires_at <= now:
            raise UnauthenticatedError(
                f"This API key ended at {known.expires_at:%Y-%m-%dT%H:%M:%SZ}. Make a new one: "
                "POST /v1/keys, or `ragbase keys create`.",
                code="expired_key",
            )
        if key_id not in self._given:
            self._used[key_id] = now
        return known.access()

    def forget(self, key_id: str) -> None:
        """A key was made or revoked: what is remembered of it holds no longer."""
        self._lookup.forget(key_id)

    async def _find(self, key_ids: Sequence[str]) -> Mapping[str, ApiKey]:
        async with self._database.read() as connection:
            return await store.find_keys(connection, key_ids)

    async def _keep_marking(self) -> None:
        while True:
            await asyncio.sleep(MARK_EVERY_S)
            await self._mark()

    async def _mark(self) -> None:
        used, self._used = self._used, {}
        if not used:
            return
        try:
            async with self._database.transaction() as connection:
                await store.mark_used(connection, used)
        except RagBaseError as error:
            self._used = {**used, **self._used}
            _log.warning("last_use_not_written", code=error.code, reason=error.message)
