"""Gathers what concurrent callers ask for into batches of one model.

An idle model runs at once what there is; what arrives while it runs becomes the next batch. So
nobody waits for a timer, and batches grow with the load.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Generic, NamedTuple, TypeVar

from ragbase_inference.errors import ClosedError, ModelFailedError, QueueFullError

__all__ = ["Batcher"]

Item = TypeVar("Item")
Result = TypeVar("Result")

_LOOK_AHEAD = 512
"""Oldest items among which a batch is chosen."""
_WINDOW = 64
"""Items of one `submit_all` that wait at a time: concurrent calls then take turns."""


class _Waiting(NamedTuple, Generic[Item, Result]):
    item: Item
    future: asyncio.Future[Result]


class Batcher(Generic[Item, Result]):
    """Runs ``run`` on batches, one at a time, on a thread of its own; for one event loop.

    ``cost`` is an item's size (tokens); a batch is padded to its largest item, so a batch of n
    costs n times that, and at most ``max_cost`` (a larger item runs alone). An item joins a batch
    only where that adds at most ``max_padding`` of padding, and there are fewer than ``max_items``.
    The oldest item is in every batch, in the company of those nearest to its size. At most
    ``max_waiting`` items wait.
    """

    def __init__(
        self,
        run: Callable[[Sequence[Item]], Sequence[Result]],
        *,
        cost: Callable[[Item], int],
        max_cost: int,
        max_waiting: int,
        max_padding: int | None = None,
        max_items: int | None = None,
        name: str = "batcher",
    ) -> None:
        self._run = run
        self._cost = cost
        self._max_cost = max_cost
        self._max_padding = max_cost if max_padding is None else max_padding
        self._max_items = sys.maxsize if max_items is None else max_items
        self._max_waiting = max_waiting
        self._waiting: deque[_Waiting[Item, Result]] = deque()
        self._turns = asyncio.Semaphore(max(1, max_waiting // _WINDOW))
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._worker: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def waiting(self) -> int:
        """Items that wait for a batch."""
        return sum(not one.future.done() for one in self._waiting)

    async def submit(self, item: Item) -> Result:
        """Result of one item. Raises `QueueFullError`, `ClosedError`, or what ``run`` raised."""
        if self._is_full():
            raise QueueFullError(f"{len(self._waiting)} items wait already")
        return await self._enqueue(item)

    def _is_full(self) -> bool:
        """Whether as many wait as may; those whose callers gave up do not count."""
        if len(self._waiting) >= self._max_waiting:
            self._waiting = deque(one for one in self._waiting if not one.future.done())
        return len(self._waiting) >= self._max_waiting

    async def submit_all(self, items: Sequence[Item]) -> list[Result]:
        """Results of many items, in order; waits for room rather than raise `QueueFullError`.

        The first failure fails the call and withdraws the rest.
        """
        order = sorted(range(len(items)), key=lambda index: self._cost(items[index]))
        results: dict[int, Result] = {}
        for start in range(0, len(order), _WINDOW):
            window = order[start : start + _WINDOW]
            async with self._turns:
                done = await self._gather([items[index] for index in window])
            results.update(zip(window, done, strict=True))
        return [results[index] for index in range(len(items))]

    async def _gather(self, items: Sequence[Item]) -> list[Result]:
        futures = [self._enqueue(item) for item in items]
        try:
            return await asyncio.gather(*futures)
        finally:
            for future in futures:
                future.cancel()

    def _enqueue(self, item: Item) -> asyncio.Future[Result]:
        if self._closed:
            raise ClosedError("the model is closed")
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(item, future))
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        return future

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while batch := self._take():
            items = [waiting.item for waiting in batch]
            outcomes = await loop.run_in_executor(self._thread, self._outcomes, items)
            for waiting, outcome in zip(batch, outcomes, strict=True):
                _settle(waiting.future, outcome)

    def _take(self) -> list[_Waiting[Item, Result]]:
        """The next batch; callers that gave up are left out."""
        seen = [one for one in islice(self._waiting, _LOOK_AHEAD) if not one.future.done()]
        costs = [self._cost(one.item) for one in seen]
        order = sorted(range(len(seen)), key=costs.__getitem__)
        taken = _neighbours(
            [costs[number] for number in order],
            order.index(0) if order else 0,
            max_cost=self._max_cost,
            max_padding=self._max_padding,
            max_items=self._max_items,
        )
        batch = [seen[number] for number in sorted(order[taken])]
        left = {id(one) for one in batch}
        self._waiting = deque(
            one for one in self._waiting if id(one) not in left and not one.future.done()
        )
        return batch

    def _outcomes(self, items: Sequence[Item]) -> list[Result | BaseException]:
        """One result or error an item: a batch that fails is halved until the culprit is alone."""
        try:
            return self._run_whole(items)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the caller's to see
            if len(items) == 1:
                return [error]
        middle = len(items) // 2
        return self._outcomes(items[:middle]) + self._outcomes(items[middle:])

    def _run_whole(self, items: Sequence[Item]) -> list[Result | BaseException]:
        results = self._run(items)
        if len(results) != len(items):
            raise ModelFailedError(f"{len(items)} items gave {len(results)} results")
        return list(results)

    async def aclose(self) -> None:
        """Fail what waits with `ClosedError`, let the running batch end, stop the thread."""
        self._closed = True
        while self._waiting:
            _settle(self._waiting.popleft().future, ClosedError("the model is closed"))
        if self._worker is not None:
            await asyncio.gather(self._worker, return_exceptions=True)
        await asyncio.to_thread(self._thread.shutdown)


def _neighbours(
    costs: Sequence[int], first: int, *, max_cost: int, max_padding: int, max_items: int
) -> slice:
    """A run of the sorted ``costs`` around ``first``, grown on the side that pads less."""
    low, high = first, min(first + 1, len(costs))
    while True:
        count, largest = high - low, costs[high - 1] if costs else 0
        if count >= max_items:
            return slice(low, high)
        sides = []
        if low > 0 and (count + 1) * largest <= max_cost:
            sides.append((largest - costs[low - 1], low - 1, high))
        if high < len(costs) and (count + 1) * costs[high] <= max_cost:
            sides.append((count * (costs[high] - largest), low, high + 1))
        padding, *grown = min(sides, default=(max_padding + 1, low, high))
        if padding > max_padding:
            return slice(low, high)
        low, high = grown


def _settle(future: asyncio.Future[Result], outcome: Result | BaseException) -> None:
    if future.done():  # the caller was cancelled meanwhile
        return
    if isinstance(outcome, BaseException):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)
