"""A key's life on a real database, as two replicas of the service see it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
import pytest_asyncio

from ragbase.errors import DatabaseUnavailableError, InvalidInputError, UnauthenticatedError
from ragbase.models.keys import KeyIn
from ragbase.services.keys import KeyService
from ragbase.services.keys_format import new_key
from ragbase.services.keys_given import given_keys
from ragbase.services.keys_lookup import KeyLookup
from ragbase.services.keys_verify import KeyVerifier
from ragbase.settings import Settings
from ragbase.storage import api_keys as store
from ragbase.storage.pool import Database


class Replica:
    """Verifier and service of one process, with an answer believed for ``kept_s``."""

    def __init__(self, database: Database, kept_s: float = 60.0) -> None:
        async def find(ids: object) -> object:
            self.asked += 1
            async with database.read() as connection:
                return await store.find_keys(connection, ids)  # type: ignore[arg-type]

        self.asked = 0
        lookup = KeyLookup(find, kept_s=kept_s, pause_s=0)  # type: ignore[arg-type]
        self.verifier = KeyVerifier(database, {}, lookup)
        self.keys = KeyService(database, self.verifier.forget)


@pytest_asyncio.fixture
async def replica(db: Database) -> AsyncIterator[Replica]:
    one = Replica(db)
    yield one
    await one.verifier.stop()


async def code_of(verifier: KeyVerifier, key: str) -> str:
    with pytest.raises(UnauthenticatedError) as refused:
        await verifier.verify(key)
    return refused.value.code


async def test_a_key_tells_scopes_and_binding(replica: Replica) -> None:
    made = await replica.keys.create(
        KeyIn(name="k", scopes=["write", "read", "read"], collections=["b", "a", "b"])
    )
    access = await replica.verifier.verify(made.key)
    assert (access.scopes, access.collections) == ({"read", "write"}, {"a", "b"})
    assert access.key_id == made.id
    assert (made.scopes, made.collections) == (["read", "write"], ["a", "b"])


async def test_a_checked_key_asks_the_database_nothing(replica: Replica) -> None:
    made = await replica.keys.create(KeyIn(name="k"))
    for _ in range(100):
        await replica.verifier.verify(made.key)
    assert replica.asked == 1


async def test_the_id_with_another_secret_is_no_key(replica: Replica) -> None:
    made = await replica.keys.create(KeyIn(name="k"))
    other = new_key().text.rpartition("_")[2]
    assert await code_of(replica.verifier, f"rb_{made.id}_{other}") == "invalid_key"
    await replica.verifier.verify(made.key)
    assert await code_of(replica.verifier, f"rb_{made.id}_{other}") == "invalid_key"


async def test_a_revoked_key_ends_at_once_here_and_soon_elsewhere(
    replica: Replica, db: Database
) -> None:
    soon = Replica(db, kept_s=0.05)
    made = await replica.keys.create(KeyIn(name="k"))
    await replica.verifier.verify(made.key)
    await soon.verifier.verify(made.key)
    ended = await replica.keys.revoke(made.id)
    assert ended.revoked_at is not None
    assert await code_of(replica.verifier, made.key) == "invalid_key"
    await asyncio.sleep(0.06)
    assert await code_of(soon.verifier, made.key) == "invalid_key"
    assert (await replica.keys.revoke(made.id)).revoked_at == ended.revoked_at


async def test_an_expired_key_says_so_to_its_bearer_only(replica: Replica, db: Database) -> None:
    made = await replica.keys.create(
        KeyIn(name="k", expires_at=datetime.now(UTC) + timedelta(hours=1))
    )
    await replica.verifier.verify(made.key)
    async with db.transaction() as connection:
        await connection.execute("UPDATE api_keys SET expires_at = now() - interval '1 second'")
    replica.verifier.forget(made.id)
    assert await code_of(replica.verifier, made.key) == "expired_key"
    other = new_key().text.rpartition("_")[2]
    assert await code_of(replica.verifier, f"rb_{made.id}_{other}") == "invalid_key"


@pytest.mark.parametrize(
    "end",
    [
        datetime.now(UTC) - timedelta(seconds=1),
        datetime.max.replace(tzinfo=UTC),
        datetime.fromisoformat("9999-12-31T23:59:59-14:00"),
        datetime.fromisoformat("0001-01-01T00:00:00+14:00"),
    ],
)
async def test_an_end_that_cannot_be_is_refused(replica: Replica, end: datetime) -> None:
    with pytest.raises(InvalidInputError, match="expires_at"):
        await replica.keys.create(KeyIn(name="k", expires_at=end))


async def test_the_database_may_go_while_a_key_is_believed(replica: Replica, db: Database) -> None:
    made = await replica.keys.create(KeyIn(name="k"))
    await replica.verifier.verify(made.key)
    await db.close()
    assert (await replica.verifier.verify(made.key)).key_id == made.id
    with pytest.raises(DatabaseUnavailableError):
        await replica.verifier.verify(new_key().text)
    replica.verifier.forget(made.id)
    with pytest.raises(DatabaseUnavailableError):
        await replica.verifier.verify(made.key)


async def test_last_use_is_written_behind_the_callers_back(replica: Replica) -> None:
    made = await replica.keys.create(KeyIn(name="used"))
    await replica.keys.create(KeyIn(name="unused"))
    await replica.verifier.verify(made.key)
    assert (await replica.keys.get(made.id)).last_used_at is None
    await replica.verifier.stop()
    rows, total = await replica.keys.page(offset=0, limit=9)
    assert total == 2
    unused, used = rows
    assert unused.last_used_at is None
    assert used.last_used_at is not None
    assert datetime.now(UTC) - used.last_used_at < timedelta(minutes=1)


async def test_an_older_use_does_not_overwrite_a_later_one(replica: Replica, db: Database) -> None:
    made = await replica.keys.create(KeyIn(name="k"))
    now = datetime.now(UTC)
    async with db.transaction() as connection:
        await store.mark_used(connection, {made.id: now})
        await store.mark_used(connection, {made.id: now - timedelta(hours=1), "gone": now})
    assert (await replica.keys.get(made.id)).last_used_at == now


async def test_a_bad_key_is_not_used(replica: Replica) -> None:
    made = await replica.keys.create(KeyIn(name="k"))
    await replica.keys.revoke(made.id)
    assert await code_of(replica.verifier, made.key) == "invalid_key"
    await replica.verifier.stop()
    assert (await replica.keys.get(made.id)).last_used_at is None


async def test_no_secret_is_stored(replica: Replica, db: Database) -> None:
    made = await replica.keys.create(KeyIn(name="k"))
    async with db.read() as connection:
        row = await connection.fetchrow("SELECT api_keys::text AS whole FROM api_keys")
    assert row is not None
    assert made.key.rpartition("_")[2] not in row["whole"]
    assert made.key.rpartition("_")[2] not in repr(
        (await store_find(db, made.id), replace(await store_find(db, made.id), name="x"))
    )


async def store_find(db: Database, key_id: str) -> store.ApiKey:
    async with db.read() as connection:
        return (await store.find_keys(connection, [key_id]))[key_id]


async def test_given_keys_need_no_database(db: Database) -> None:
    admin, probe, client = (new_key() for _ in range(3))
    given = given_keys(
        Settings(admin_key=admin.text, probe_key=probe.text, client_key=client.text)  # type: ignore[arg-type]
    )
    verifier = KeyVerifier(db, given)
    await db.close()
    accesses = [await verifier.verify(key.text) for key in (admin, probe, client)]
    assert [access.scopes for access in accesses] == [{"admin"}, {"read"}, {"read", "write"}]
    assert [access.collections for access in accesses] == [None] * 3
