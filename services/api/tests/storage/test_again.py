"""Changes that wait for each other's rows are both made; other errors pass at once."""

from __future__ import annotations

import asyncio

import pytest

from ragbase.errors import ConflictError, UnavailableError
from ragbase.storage.again import DEADLOCK, TRIES, again_after_deadlock
from ragbase.storage.pool import Database


async def test_two_changes_in_a_circle_are_both_made(database_url: str) -> None:
    async with await Database.open(database_url, min_size=2) as db:
        async with db.transaction() as connection:
            await connection.execute("CREATE TABLE rows (id int PRIMARY KEY, value int)")
            await connection.execute("INSERT INTO rows VALUES (1, 0), (2, 0)")
        both_hold_one = asyncio.Barrier(2)
        begun: list[int] = []

        @again_after_deadlock
        async def raise_both(first: int, second: int) -> int:
            begun.append(first)
            async with db.transaction() as connection:
                raised = "UPDATE rows SET value = value + 1 WHERE id = $1"
                await connection.execute(raised, first)
                if len(begun) <= 2:
                    await both_hold_one.wait()
                await connection.execute(raised, second)
            return first

        assert await asyncio.gather(raise_both(1, 2), raise_both(2, 1)) == [1, 2]
        assert len(begun) == 3
        async with db.read() as connection:
            rows = await connection.fetch("SELECT value FROM rows")
        assert [row["value"] for row in rows] == [2, 2]


async def test_a_circle_that_never_ends_is_told() -> None:
    tries = 0

    @again_after_deadlock
    async def unlucky() -> None:
        nonlocal tries
        tries += 1
        raise UnavailableError("Two changes met.", code=DEADLOCK)

    with pytest.raises(UnavailableError, match="Two changes met"):
        await unlucky()
    assert tries == TRIES


@pytest.mark.parametrize("error", [ConflictError("no"), UnavailableError("away"), ValueError("x")])
async def test_other_errors_pass_at_once(error: Exception) -> None:
    tries = 0

    @again_after_deadlock
    async def wrong() -> None:
        nonlocal tries
        tries += 1
        raise error

    with pytest.raises(type(error)):
        await wrong()
    assert tries == 1
