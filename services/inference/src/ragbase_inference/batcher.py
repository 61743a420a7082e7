"""Gathers what concurrent callers ask for into batches of one model, and shares it fairly.

An idle model runs at once what there is; what arrives while it runs becomes the next batch. So
nobody waits for a timer, and batches grow with the load.

Fairness: each item gets the time at which its turn comes if all calls were served at once, in
equal shares (start-time fair queueing: Goyal, Vin and Cheng, SIGCOMM 1996). So a call of one item
does not wait until a call of hundreds, made before it, is done.
"""

from __future__ import annotations

import asyncio
import bisect
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Generic, NamedTuple, TypeVar

from ragbase_inference.budget import CostBudget
from ragbase_inference.company import company
from ragbase_inference.errors import ClosedError, QueueFullError
from ragbase_inference.isolation import IsolatingRunner

__all__ = ["Batcher"]

Item = TypeVar("Item")
Result = TypeVar("Result")

_LOOK_AHEAD = 512
"""First items in turn among which a batch is chosen."""
_WINDOW = 64
"""Items of one `submit_all` that wait at a time, so that calls without end fit into the queue."""


class _Waiting(NamedTuple, Generic[Item, Result]):
    turn: float
    number: int
    item: Item
    future: asyncio.Future[Result]


class _Call:
    """Items of one caller; ``served`` is when its next one would start."""

    def __init__(self) -> None:
        self.served = 0.0


class Batcher(Generic[Item, Result]):
    """Runs ``run`` on batches, ``at_once`` of them on threads of its own; for one event loop.

    ``cost`` is an item's size (tokens); a batch is padded to its largest item, so a batch of n
    costs n times that, and at most ``max_cost`` (a larger item runs alone). An item joins a batch
    only where that adds at most ``max_padding`` of padding; a batch has at most ``max_items``.
    The item whose turn it is is in every batch, in the company of those nearest to its size. At
    most ``max_waiting`` items wait. ``at_once`` above 1 is for a ``run`` that uses one core.

    A batch that fails is run again in halves, so an item fails for its own fault only; what
    ``run`` returns as an exception is that item's error. After `OutOfMemoryError` batches are
    smaller (`CostBudget`), and ``on_oom`` is told, on the batch's thread, how many items each
    batch had that did not fit.
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
        at_once: int = 1,
        on_oom: Callable[[int], None] | None = None,
        name: str = "batcher",
    ) -> None:
        self._cost = cost
        self._budget = CostBudget(max_cost)
        self._runner = IsolatingRunner(run, cost=cost, budget=self._budget, on_oom=on_oom)
        self._max_padding = max_cost if max_padding is None else max_padding
        self._max_items = _LOOK_AHEAD if max_items is None else max_items
        self._max_waiting = max_waiting
        self._waiting: list[_Waiting[Item, Result]] = []
        self._numbers = count()
        self._now = 0.0
        self._calls = asyncio.Semaphore(max(1, max_waiting // _WINDOW))
        self._at_once = at_once
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix=name)
        self._workers: set[asyncio.Task[None]] = set()
        self._closed = False

    @property
    def waiting(self) -> int:
        """Items that wait for a batch."""
        return sum(not one.future.done() for one in self._waiting)

    @property
    def max_cost(self) -> int:
        """Most that a batch may cost now: less than it was made with once memory ran out."""
        return self._budget.limit

    async def submit(self, item: Item) -> Result:
        """Result of one item. Raises `QueueFullError`, `ClosedError`, or what ``run`` raised."""
        if self._is_full():
            raise QueueFullError(f"{len(self._waiting)} items wait already")
        return await self._enqueue(item, _Call())

    def _is_full(self) -> bool:
        """Whether as many wait as may; those whose callers gave up do not count."""
        if len(self._waiting) >= self._max_waiting:
            self._waiting = [one for one in self._waiting if not one.future.done()]
        return len(self._waiting) >= self._max_waiting

    async def submit_all(self, items: Sequence[Item]) -> list[Result]:
        """Results of many items, in order; waits for room rather than raise `QueueFullError`.

        The first failure fails the call and withdraws the rest.
        """
        call = _Call()
        order = sorted(range(len(items)), key=lambda index: self._cost(items[index]))
        results: dict[int, Result] = {}
        for start in range(0, len(order), _WINDOW):
            window = order[start : start + _WINDOW]
            async with self._calls:
                done = await self._gather([items[index] for index in window], call)
            results.update(zip(window, done, strict=True))
        return [results[index] for index in range(len(items))]

    async def _gather(self, items: Sequence[Item], call: _Call) -> list[Result]:
        futures = [self._enqueue(item, call) for item in items]
        try:
            return await asyncio.gather(*futures)
        finally:
            for future in futures:
                future.cancel()

    def _enqueue(self, item: Item, call: _Call) -> asyncio.Future[Result]:
        if self._closed:
            raise ClosedError("the model is closed")
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        turn = max(self._now, call.served)
        call.served = turn + self._cost(item)
        bisect.insort(self._waiting, _Waiting(turn, next(self._numbers), item, future))
        self._workers = {worker for worker in self._workers if not worker.done()}
        if len(self._workers) < self._at_once:
            self._workers.add(asyncio.create_task(self._work()))
        return future

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while batch := self._take():
            items = [waiting.item for waiting in batch]
            outcomes = await loop.run_in_executor(self._threads, self._runner.outcomes, items)
            for waiting, outcome in zip(batch, outcomes, strict=True):
                _settle(waiting.future, outcome)

    def _take(self) -> list[_Waiting[Item, Result]]:
        """The next batch; callers that gave up are left out."""
        seen: list[_Waiting[Item, Result]] = []
        while self._waiting and not seen:
            seen = [one for one in self._waiting[:_LOOK_AHEAD] if not one.future.done()]
            self._waiting[:_LOOK_AHEAD] = seen
        if not seen:
            return []
        self._now = seen[0].turn
        chosen = company(
            [self._cost(one.item) for one in seen],
            0,
            max_cost=self._budget.limit,
            max_padding=self._max_padding,
            max_items=self._max_items,
        )
        batch = [seen[number] for number in chosen]
        taken = set(chosen)
        self._waiting[: len(seen)] = [one for at, one in enumerate(seen) if at not in taken]
        return batch

    async def aclose(self) -> None:
        """Fail what waits with `ClosedError`, let running batches end, stop the threads."""
        self._closed = True
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            _settle(one.future, ClosedError("the model is closed"))
        await asyncio.gather(*self._workers, return_exceptions=True)
        await asyncio.to_thread(self._threads.shutdown)


def _settle(future: asyncio.Future[Result], outcome: Result | BaseException) -> None:
    if future.done():  # the caller was cancelled meanwhile
        return
    if isinstance(outcome, BaseException):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)
