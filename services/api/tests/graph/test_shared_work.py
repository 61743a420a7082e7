"""Work that is shared: who joins what, what is left alone, and what never begins."""

from __future__ import annotations

import asyncio

import pytest

from ragbase.graph.shared_work import SharedWork


class Played:
    """Work that ends when it is let go; keys in the order in which it began."""

    def __init__(self) -> None:
        self.began: list[str] = []
        self.ended: list[str] = []
        self.go = asyncio.Event()

    async def work(self, key: str) -> str:
        self.began.append(key)
        await self.go.wait()
        self.ended.append(key)
        return f"{key}{len(self.began)}"


async def begun(*callers: asyncio.Task[str]) -> None:
    """Until they have done what they can without anybody's help."""
    for _ in range(5):
        await asyncio.sleep(0)
    assert not any(caller.done() for caller in callers)


async def left(caller: asyncio.Task[str]) -> None:
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller


async def test_callers_of_a_key_share_what_waits_and_never_what_has_begun() -> None:
    """What is given was begun after it was asked for."""
    played = Played()
    shared = SharedWork(played.work)
    first = asyncio.create_task(shared.of("a"))
    await begun(first)
    later = [asyncio.create_task(shared.of("a")) for _ in range(3)]
    await begun(*later)
    assert played.began == ["a"]
    played.go.set()
    assert await first == "a1"
    assert [await caller for caller in later] == ["a2"] * 3


async def test_one_runs_at_a_time_whatever_the_key() -> None:
    played = Played()
    shared = SharedWork(played.work)
    callers = [asyncio.create_task(shared.of(key)) for key in "abc"]
    await begun(*callers)
    assert played.began == ["a"]
    played.go.set()
    assert [await caller for caller in callers] == ["a1", "b2", "c3"]


async def test_what_runs_goes_on_without_its_caller_and_keeps_its_turn() -> None:
    played = Played()
    shared = SharedWork(played.work)
    first = asyncio.create_task(shared.of("a"))
    await begun(first)
    await left(first)
    second = asyncio.create_task(shared.of("b"))
    await begun(second)
    assert played.began == ["a"], "its turn is over when it has ended, not when nobody waits"
    played.go.set()
    assert await second == "b2"
    assert played.ended == ["a", "b"]


async def test_what_nobody_waits_for_any_more_never_begins() -> None:
    played = Played()
    shared = SharedWork(played.work)
    first = asyncio.create_task(shared.of("a"))
    await begun(first)
    for _ in range(20):
        impatient = [asyncio.create_task(shared.of(key)) for key in "abb"]
        await begun(*impatient)
        for caller in impatient:
            await left(caller)
    patient, impatient_too = (asyncio.create_task(shared.of("b")) for _ in range(2))
    await begun(patient, impatient_too)
    await left(impatient_too)
    played.go.set()
    assert (await first, await patient) == ("a1", "b2")
    assert played.began == ["a", "b"]


async def test_what_goes_wrong_is_raised_to_every_caller_and_stops_nothing() -> None:
    async def work(key: str) -> str:
        if key == "bad":
            raise ValueError(key)
        return key

    shared = SharedWork(work)
    answers = await asyncio.gather(
        *(shared.of(key) for key in ("bad", "bad", "good")), return_exceptions=True
    )
    assert [str(answer) for answer in answers] == ["bad", "bad", "good"]
    assert [type(answer) for answer in answers] == [ValueError, ValueError, str]
