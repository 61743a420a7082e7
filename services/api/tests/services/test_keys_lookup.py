"""What a flood of keys may cost, and how long an answer is believed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from ragbase.errors import DatabaseUnavailableError, OverloadedError
from ragbase.models.keys import ApiKey
from ragbase.services import keys_lookup
from ragbase.services.keys_lookup import KeyLookup, Remembered

KEY = ApiKey("known", "k", bytes(32), ("read",), None, datetime.now(UTC))


class Table:
    """A table of keys that counts what is asked of it."""

    def __init__(self) -> None:
        self.keys = {"known": KEY}
        self.asked: list[list[str]] = []
        self.fault: Exception | None = None
        self.read = asyncio.Event()
        self.open = asyncio.Event()
        self.open.set()

    async def find(self, ids: Sequence[str]) -> Mapping[str, ApiKey]:
        self.asked.append(list(ids))
        found = {each: self.keys[each] for each in ids if each in self.keys}
        self.read.set()
        await self.open.wait()
        if self.fault is not None:
            raise self.fault
        return found


@pytest.fixture
def table() -> Table:
    return Table()


async def test_what_was_asked_a_moment_ago_is_not_asked_again(table: Table) -> None:
    lookup = KeyLookup(table.find, pause_s=0)
    for _ in range(100):
        assert await lookup.get("known") is KEY
        assert await lookup.get("unknown") is None
    assert table.asked == [["known"], ["unknown"]]


async def test_an_answer_is_believed_for_a_while_only(table: Table) -> None:
    lookup = KeyLookup(table.find, kept_s=0, pause_s=0)
    await lookup.get("known")
    table.keys["known"] = replace(KEY, revoked_at=datetime.now(UTC))
    found = await lookup.get("known")
    assert found is not None
    assert found.revoked_at is not None


async def test_what_is_forgotten_is_asked_again(table: Table) -> None:
    lookup = KeyLookup(table.find, pause_s=0)
    await lookup.get("known")
    del table.keys["known"]
    lookup.forget("known")
    assert await lookup.get("known") is None
    table.keys["known"] = KEY
    lookup.forget("known")
    assert await lookup.get("known") is KEY


async def test_an_answer_older_than_a_revocation_is_not_kept(table: Table) -> None:
    lookup = KeyLookup(table.find, pause_s=0)
    table.open.clear()
    asked = asyncio.create_task(lookup.get("known"))
    await table.read.wait()
    table.keys["known"] = replace(KEY, revoked_at=datetime.now(UTC))
    lookup.forget("known")  # the table was read before, the answer comes after
    table.open.set()
    assert await asked is KEY
    found = await lookup.get("known")
    assert found is not None
    assert found.revoked_at is not None


async def test_a_flood_of_unknown_keys_asks_one_statement_at_a_time(table: Table) -> None:
    lookup = KeyLookup(table.find, pause_s=0)
    table.open.clear()
    waiting = [asyncio.create_task(lookup.get(f"bad{number}")) for number in range(900)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert len(table.asked) == 1
    table.open.set()
    assert set(await asyncio.gather(*waiting)) == {None}
    assert len(table.asked) <= 2
    assert sum(map(len, table.asked)) == 900


async def test_two_callers_of_one_key_share_the_question(table: Table) -> None:
    lookup = KeyLookup(table.find, pause_s=0)
    assert await asyncio.gather(*(lookup.get("known") for _ in range(50))) == [KEY] * 50
    assert table.asked == [["known"]]


async def test_statements_keep_a_distance(table: Table) -> None:
    lookup = KeyLookup(table.find, pause_s=3600)
    await lookup.get("a")
    later = asyncio.create_task(lookup.get("b"))
    await asyncio.sleep(0.02)
    assert not later.done()
    assert table.asked == [["a"]]
    await lookup.stop()
    with pytest.raises(asyncio.CancelledError):
        await later


async def test_more_than_may_wait_are_turned_away(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys_lookup, "WAITING_MAX", 3)
    lookup = KeyLookup(table.find, pause_s=0)
    table.open.clear()
    waiting = [asyncio.create_task(lookup.get(f"bad{number}")) for number in range(4)]
    await asyncio.sleep(0)
    with pytest.raises(OverloadedError):
        await waiting[3]
    table.open.set()
    assert await asyncio.gather(*waiting[:3]) == [None] * 3


async def test_a_database_that_is_away_is_no_wrong_key(table: Table) -> None:
    lookup = KeyLookup(table.find, pause_s=0)
    await lookup.get("known")
    table.fault = DatabaseUnavailableError("gone")
    assert await lookup.get("known") is KEY  # still believed
    with pytest.raises(DatabaseUnavailableError, match="cannot be checked"):
        await lookup.get("other")
    table.fault = None
    assert await lookup.get("other") is None


async def test_a_database_that_hangs_is_given_up(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys_lookup, "TIMEOUT_S", 0.01)
    table.open.clear()
    with pytest.raises(DatabaseUnavailableError):
        await KeyLookup(table.find).get("known")


async def test_a_caller_that_leaves_takes_nobody_along(table: Table) -> None:
    lookup = KeyLookup(table.find, pause_s=0)
    table.open.clear()
    leaves, stays = (asyncio.create_task(lookup.get("known")) for _ in range(2))
    await asyncio.sleep(0)
    leaves.cancel()
    table.open.set()
    assert await stays is KEY


def test_memory_is_bounded_and_the_oldest_goes_first() -> None:
    kept: Remembered[int] = Remembered(60, 3)
    for number in range(5):
        kept.put(str(number), number)
    assert len(kept) == 3
    assert [kept.get(str(number)) for number in range(5)] == [None, None, 2, 3, 4]


async def test_a_flood_of_bad_keys_pushes_no_good_one_out(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys_lookup, "ABSENT_MAX", 10)
    lookup = KeyLookup(table.find, pause_s=0)
    await lookup.get("known")
    await asyncio.gather(*(lookup.get(f"bad{number}") for number in range(100)))
    table.asked.clear()
    assert await lookup.get("known") is KEY
    assert table.asked == []
