"""A first-come-first-served semaphore whose holders take several permits at once."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

__all__ = ["Permits"]


class Permits:
    """Bounds the inputs in flight: model servers count inputs, not requests.

    A large request at the head of the line is waited for rather than overtaken, so that a stream
    of small ones cannot starve it.
    """

    def __init__(self, total: int) -> None:
        if total < 1:
            raise ValueError("at least one permit is needed")
        self.total = total
        self._free = total
        self._line: deque[tuple[int, asyncio.Future[None]]] = deque()

    @asynccontextmanager
    async def take(self, count: int) -> AsyncIterator[None]:
        """Hold ``count`` permits (at most all there are) inside the block."""
        count = min(count, self.total)
        await self._acquire(count)
        try:
            yield
        finally:
            self._release(count)

    async def _acquire(self, count: int) -> None:
        if not self._line and count <= self._free:
            self._free -= count
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._line.append((count, turn))
        try:
            await turn
        except asyncio.CancelledError:
            self._leave(count, turn)
            raise

    def _leave(self, count: int, turn: asyncio.Future[None]) -> None:
        if turn.done() and not turn.cancelled():
            self._release(count)  # the permits came together with the cancellation
            return
        self._line = deque(waiting for waiting in self._line if waiting[1] is not turn)
        self._release(0)  # who waited behind may fit now

    def _release(self, count: int) -> None:
        self._free += count
        while self._line and self._line[0][0] <= self._free:
            taken, turn = self._line.popleft()
            if not turn.cancelled():
                self._free -= taken
                turn.set_result(None)
