"""Permits taken several at a time."""

from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragbase.clients.permits import Permits


@settings(max_examples=30, deadline=None)
@given(
    total=st.integers(1, 8),
    wants=st.lists(st.integers(1, 10), max_size=40),
    seed=st.integers(0, 2**16),
)
def test_the_bound_holds_and_everyone_has_a_turn(total: int, wants: list[int], seed: int) -> None:
    """Some holders are cancelled while they wait or work; no permit is lost or made."""
    chance = random.Random(seed)
    held = peak = done = 0

    async def work(permits: Permits, want: int) -> None:
        nonlocal held, peak, done
        async with permits.take(want):
            held += min(want, total)
            peak = max(peak, held)
            try:
                await asyncio.sleep(0)
                await asyncio.sleep(0)
            finally:
                held -= min(want, total)
        done += 1

    async def run() -> None:
        permits = Permits(total)
        tasks = [asyncio.create_task(work(permits, want)) for want in wants]
        for _ in tasks:
            await asyncio.sleep(0)
            if chance.random() < 0.3:
                chance.choice(tasks).cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert done == sum(result is None for result in results)
        async with asyncio.timeout(1), permits.take(total):
            pass  # all are back

    asyncio.run(run())
    assert peak <= total


async def test_a_large_request_is_not_overtaken_for_ever() -> None:
    permits = Permits(4)
    order: list[str] = []

    async def take(name: str, count: int) -> None:
        async with permits.take(count):
            order.append(name)
            await asyncio.sleep(0.01)

    first = [asyncio.create_task(take("small", 1)) for _ in range(3)]
    await asyncio.sleep(0)
    await asyncio.gather(*first, take("large", 4), *(take("late", 1) for _ in range(5)))
    assert order.index("large") == 3


async def test_permits_that_come_together_with_the_cancellation_are_given_back() -> None:
    permits = Permits(2)
    async with permits.take(2):
        waiting = asyncio.create_task(_hold(permits, 2))
        await asyncio.sleep(0)
    waiting.cancel()  # it has its permits and has not run since
    await asyncio.gather(waiting, return_exceptions=True)
    async with asyncio.timeout(1), permits.take(2):
        pass


async def test_who_stood_behind_one_who_left_goes_on() -> None:
    permits = Permits(4)
    async with permits.take(2):
        large = asyncio.create_task(_hold(permits, 4))
        small = asyncio.create_task(_hold(permits, 1))
        await asyncio.sleep(0)
        large.cancel()
        async with asyncio.timeout(1):
            await small


async def _hold(permits: Permits, count: int) -> None:
    async with permits.take(count):
        pass


def test_no_permits_at_all_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Permits(0)
