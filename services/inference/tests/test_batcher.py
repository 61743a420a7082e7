"""Batches grow with the load, errors stay with their item, nobody waits for nothing."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence

import pytest

from ragbase_inference.batcher import Batcher
from ragbase_inference.errors import ClosedError, ModelFailedError, QueueFullError


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
