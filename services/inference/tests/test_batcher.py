"""Batches grow with the load, errors stay with their item, nobody waits for nothing."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence

import pytest

from ragbase_inference.batcher import Batcher
from ragbase_inference.errors import (
    ClosedError,
    ModelFailedError,
    NotFiniteError,
    OutOfMemoryError,
    QueueFullError,
)


class Model:
    """Doubles numbers, batch by batch; ``hold()`` keeps it busy until ``release()``."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self._free = threading.Event()
        self._free.set()
        self.busy = threading.Event()

    def __call__(self, items: Sequence[int]) -> list[int]:
        self.batches.append(list(items))
        self.busy.set()
        assert self._free.wait(10)
        if 13 in items:
            raise ValueError("13")
        return [2 * item for item in items]

    def hold(self) -> None:
        self._free.clear()

    def release(self) -> None:
        self._free.set()


MakeBatcher = Callable[..., Batcher[int, int]]


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
async def batcher(model: Model) -> AsyncIterator[Batcher[int, int]]:
    made = Batcher[int, int](model, cost=lambda item: item, max_cost=100, max_waiting=8)
    yield made
    model.release()
    await made.aclose()


async def occupied(batcher: Batcher[int, int], model: Model) -> asyncio.Task[int]:
    """Keep the model busy with item 1."""
    model.hold()
    first = asyncio.create_task(batcher.submit(1))
    assert await asyncio.to_thread(model.busy.wait, 10)
    return first


async def queued(batcher: Batcher[int, int], *items: int) -> list[asyncio.Task[int]]:
    tasks = [asyncio.create_task(batcher.submit(item)) for item in items]
    await asyncio.sleep(0)
    return tasks


async def test_an_idle_model_runs_at_once(batcher: Batcher[int, int], model: Model) -> None:
    assert await batcher.submit(4) == 8
    assert model.batches == [[4]]


async def test_what_arrives_meanwhile_is_one_batch(
    batcher: Batcher[int, int], model: Model
) -> None:
    first = await occupied(batcher, model)
    rest = await queued(batcher, 2, 3, 4)
    model.release()
    assert await asyncio.gather(first, *rest) == [2, 4, 6, 8]
    assert model.batches == [[1], [2, 3, 4]]


async def test_a_batch_costs_its_largest_item_times_its_count(
    batcher: Batcher[int, int], model: Model
) -> None:
    first = await occupied(batcher, model)
    rest = await queued(batcher, 20, 20, 40, 150, 5)
    model.release()
    await asyncio.gather(first, *rest)
    assert model.batches == [[1], [20, 20, 5], [40], [150]]


async def test_items_of_like_size_go_together_whatever_came_between(
    batcher: Batcher[int, int], model: Model
) -> None:
    first = await occupied(batcher, model)
    rest = await queued(batcher, 30, 5, 31, 6, 32)
    model.release()
    assert await asyncio.gather(first, *rest) == [2, 60, 10, 62, 12, 64]
    assert model.batches == [[1], [30, 31, 32], [5, 6]]


async def test_an_item_that_would_pad_too_much_runs_in_a_batch_of_its_own(model: Model) -> None:
    batcher = Batcher[int, int](
        model, cost=lambda item: item, max_cost=1000, max_padding=10, max_waiting=8
    )
    first = await occupied(batcher, model)
    rest = await queued(batcher, 50, 41, 60, 20)
    model.release()
    await asyncio.gather(first, *rest)
    assert model.batches == [[1], [50, 41], [60], [20]]
    await batcher.aclose()


async def test_the_oldest_item_is_never_overtaken_twice(model: Model) -> None:
    """However many fit together better, each batch holds the one that waits longest."""
    batcher = Batcher[int, int](model, cost=lambda item: item, max_cost=30, max_waiting=99)
    first = await occupied(batcher, model)
    rest = await queued(batcher, 30, *[10] * 9, 29)
    model.release()
    await asyncio.gather(first, *rest)
    assert model.batches == [[1], [30], [10] * 3, [10] * 3, [10] * 3, [29]]
    await batcher.aclose()


async def test_a_single_item_does_not_wait_behind_a_long_call(model: Model) -> None:
    """It is in the very next batch, whatever a call made before still wants."""
    batcher = Batcher[int, int](model, cost=lambda item: item, max_cost=100, max_waiting=999)
    model.hold()
    call = asyncio.create_task(batcher.submit_all([20] * 512))
    assert await asyncio.to_thread(model.busy.wait, 10)
    (late,) = await queued(batcher, 30)
    model.release()
    assert await late == 60
    assert 30 in model.batches[1]
    assert await call == [40] * 512
    await batcher.aclose()


async def test_long_calls_take_turns(model: Model) -> None:
    """Of two calls, the later one is not served after the earlier one but beside it."""
    batcher = Batcher[int, int](model, cost=lambda item: 25, max_cost=100, max_waiting=1000)
    first = await occupied(batcher, model)
    calls = [asyncio.create_task(batcher.submit_all([kind] * 60)) for kind in (2, 3)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    model.release()
    await asyncio.gather(first, *calls)
    served = [item for batch in model.batches[1:] for item in batch]
    assert abs(served[:60].count(2) - 30) <= 4
    await batcher.aclose()


async def test_a_large_item_uses_up_its_callers_share(model: Model) -> None:
    """Turns go by cost, not by count: one call's items of 40 against another's of 10."""
    batcher = Batcher[int, int](
        model, cost=lambda item: item, max_cost=40, max_padding=0, max_waiting=1000
    )
    first = await occupied(batcher, model)
    calls = [asyncio.create_task(batcher.submit_all([size] * 16)) for size in (40, 10)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    model.release()
    await asyncio.gather(first, *calls)
    small = [number for number, batch in enumerate(model.batches) if 10 in batch]
    assert small[-1] <= 9  # 4 batches of each, in turn; by count the small ones would end at 5
    await batcher.aclose()


async def test_a_batch_has_at_most_max_items(model: Model) -> None:
    batcher = Batcher[int, int](
        model, cost=lambda item: item, max_cost=100, max_items=2, max_waiting=9
    )
    first = await occupied(batcher, model)
    rest = await queued(batcher, 2, 3, 4, 5, 6)
    model.release()
    await asyncio.gather(first, *rest)
    assert [len(batch) for batch in model.batches] == [1, 2, 2, 1]
    await batcher.aclose()


async def test_the_queue_tells_its_length(batcher: Batcher[int, int], model: Model) -> None:
    first = await occupied(batcher, model)
    gone, *stay = await queued(batcher, 2, 3, 4)
    gone.cancel()
    await asyncio.sleep(0)
    assert batcher.waiting == 2
    model.release()
    await asyncio.gather(first, *stay)
    assert batcher.waiting == 0


async def test_results_that_are_errors_are_raised_by_their_items() -> None:
    """B067: one vector of NaN fails its own text and no other."""
    bad = NotFiniteError("NaN")
    batcher = Batcher[int, int](
        lambda items: [bad if item == 2 else item for item in items],  # type: ignore[misc]
        cost=lambda _: 1,
        max_cost=9,
        max_waiting=9,
    )
    results = await asyncio.gather(
        *(batcher.submit(item) for item in (1, 2, 3)), return_exceptions=True
    )
    assert results == [1, bad, 3]
    await batcher.aclose()


class SmallDevice(Model):
    """Has room for ``room`` tokens; a batch is padded to its largest item."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self.room = room

    def __call__(self, items: Sequence[int]) -> list[int]:
        results = super().__call__(items)
        if len(items) * max(items) > self.room:
            raise OutOfMemoryError(f"{len(items)} items")
        return results


async def test_out_of_memory_halves_goes_on_counts_and_learns(
    caplog: pytest.LogCaptureFixture,
) -> None:
    device, ooms = SmallDevice(room=30), list[int]()
    batcher = Batcher[int, int](
        device, cost=lambda item: item, max_cost=100, max_waiting=99, on_oom=ooms.append
    )
    assert await batcher.submit_all([10] * 9) == [20] * 9
    assert ooms == [9, 4, 5]
    assert batcher.max_cost <= 30
    assert "out of memory" in caplog.text
    ooms.clear()
    assert await batcher.submit_all([10] * 9) == [20] * 9
    assert ooms == []
    await batcher.aclose()


async def test_an_item_too_large_for_the_device_fails_alone_and_teaches_nothing() -> None:
    device = SmallDevice(room=30)
    batcher = Batcher[int, int](device, cost=lambda item: item, max_cost=100, max_waiting=99)
    with pytest.raises(OutOfMemoryError):
        await batcher.submit(50)
    assert batcher.max_cost == 100
    assert await batcher.submit(30) == 60
    await batcher.aclose()


async def test_memory_that_is_free_again_is_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragbase_inference.budget._REGROW_AFTER", 2)
    device = SmallDevice(room=30)
    batcher = Batcher[int, int](device, cost=lambda item: item, max_cost=100, max_waiting=99)
    await batcher.submit_all([10] * 9)
    assert batcher.max_cost <= 30
    device.room = 1000
    for _ in range(40):
        await batcher.submit(10)
    assert batcher.max_cost == 100
    await batcher.aclose()


async def test_a_failing_item_fails_alone(batcher: Batcher[int, int], model: Model) -> None:
    first = await occupied(batcher, model)
    rest = await queued(batcher, 2, 13, 4, 5)
    model.release()
    results = await asyncio.gather(first, *rest, return_exceptions=True)
    assert [*results[:2], *results[3:]] == [2, 4, 8, 10]
    assert isinstance(results[2], ValueError)
    assert await batcher.submit(6) == 12


async def test_a_full_queue_refuses(batcher: Batcher[int, int], model: Model) -> None:
    first = await occupied(batcher, model)
    waiting = await queued(batcher, *range(2, 10))
    with pytest.raises(QueueFullError):
        await batcher.submit(10)
    model.release()
    assert await asyncio.gather(first, *waiting) == [2 * n for n in range(1, 10)]


async def test_many_items_wait_for_room_and_keep_their_order(
    batcher: Batcher[int, int], model: Model
) -> None:
    items = [number * 37 % 90 for number in range(300) if number * 37 % 90 != 13]
    both = await asyncio.gather(batcher.submit_all(items), batcher.submit_all(items[::-1]))
    assert list(both) == [[2 * item for item in items], [2 * item for item in items[::-1]]]
    assert await batcher.submit_all([]) == []


async def test_a_failing_call_withdraws_its_other_items(
    batcher: Batcher[int, int], model: Model
) -> None:
    with pytest.raises(ValueError, match="13"):
        await batcher.submit_all([13, *range(50, 99)])
    ran = sum(len(batch) for batch in model.batches)
    assert await batcher.submit(3) == 6
    assert ran < 20


async def test_a_cancelled_caller_is_left_out(batcher: Batcher[int, int], model: Model) -> None:
    first = await occupied(batcher, model)
    gone, stays = await queued(batcher, 2, 3)
    gone.cancel()
    model.release()
    assert list(await asyncio.gather(first, stays)) == [2, 6]
    assert model.batches == [[1], [3]]


async def test_a_caller_may_be_cancelled_while_its_batch_runs(
    batcher: Batcher[int, int], model: Model
) -> None:
    first = await occupied(batcher, model)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    model.release()
    assert await batcher.submit(3) == 6


async def test_a_wrong_number_of_results_is_an_error() -> None:
    batcher = Batcher[int, int](lambda _: [], cost=lambda _: 1, max_cost=9, max_waiting=9)
    with pytest.raises(ModelFailedError):
        await batcher.submit(1)
    await batcher.aclose()


async def test_closing_fails_what_waits_and_ends_what_runs(
    batcher: Batcher[int, int], model: Model
) -> None:
    first = await occupied(batcher, model)
    (waits,) = await queued(batcher, 2)
    closing = asyncio.create_task(batcher.aclose())
    await asyncio.sleep(0)
    model.release()
    await closing
    assert await first == 2
    with pytest.raises(ClosedError):
        await waits
    with pytest.raises(ClosedError):
        await batcher.submit(3)
    assert "batcher_0" not in {thread.name for thread in threading.enumerate()}


async def test_a_batch_holds_at_most_so_many_items(model: Model) -> None:
    batcher = Batcher[int, int](
        model, cost=lambda item: item, max_cost=1000, max_items=2, max_waiting=8
    )
    first = await occupied(batcher, model)
    rest = await queued(batcher, 5, 6, 7, 5)
    assert batcher.waiting == 4
    model.release()
    assert await asyncio.gather(first, *rest) == [2, 10, 12, 14, 10]
    assert model.batches == [[1], [5, 5], [6, 7]]
    assert batcher.waiting == 0
    await batcher.aclose()


async def test_so_many_batches_run_at_once_as_are_allowed() -> None:
    """The first two are held until both run; the others wait for a place."""
    both = threading.Barrier(2, timeout=10)
    batches: list[list[int]] = []

    def run(items: Sequence[int]) -> list[int]:
        batches.append(list(items))
        if 1 in items or 2 in items:
            both.wait()  # passed only where the two run beside each other
        return [2 * item for item in items]

    batcher = Batcher[int, int](run, cost=lambda _: 60, max_cost=100, max_waiting=8, at_once=2)
    assert await asyncio.gather(*(batcher.submit(item) for item in (1, 2, 3, 4))) == [2, 4, 6, 8]
    assert sorted(batches) == [[1], [2], [3], [4]]
    await batcher.aclose()


async def test_closing_waits_for_every_batch_that_runs(model: Model) -> None:
    batcher = Batcher[int, int](
        model, cost=lambda item: 60, max_cost=100, max_waiting=8, at_once=2, name="closing"
    )
    model.hold()
    running = await queued(batcher, 1, 2)
    async with asyncio.timeout(10):
        while len(model.batches) < 2:  # noqa: ASYNC110 - told by a thread of the batcher
            await asyncio.sleep(0.001)
    closing = asyncio.create_task(batcher.aclose())
    await asyncio.sleep(0)
    model.release()
    await closing
    assert await asyncio.gather(*running) == [2, 4]
    assert not any(thread.name.startswith("closing") for thread in threading.enumerate())
