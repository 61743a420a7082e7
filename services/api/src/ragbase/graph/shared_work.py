"""Long computations that are begun once for all who want them, one at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

__all__ = ["SharedWork"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(slots=True, eq=False)
class _Piece(Generic[V]):
    task: asyncio.Task[V]
    callers: int = 0


class SharedWork(Generic[K, V]):
    """Runs ``work(key)`` in tasks of its own: one at a time, and of a key at most one waits its turn.

    A caller joins the piece of its key that has not begun yet, so what it gets was begun after it
    asked. Callers may leave (be cancelled) at any time: what runs goes on to its end, as a thread
    or another server's computation would anyway, and keeps its turn until then; what still waits
    and is wanted by nobody any more is not begun. So nothing piles up behind callers in a hurry.
    """

    def __init__(self, work: Callable[[K], Awaitable[V]]) -> None:
        self._work = work
        self._turn = asyncio.Lock()
        self._waiting: dict[K, _Piece[V]] = {}
        self._tasks: set[asyncio.Task[V]] = set()
        """The event loop itself holds tasks weakly."""

    async def of(self, key: K) -> V:
        """The result; raises what ``work`` raises."""
        piece = self._waiting.get(key) or self._begin(key)
        piece.callers += 1
        try:
            return await asyncio.shield(piece.task)
        finally:
            piece.callers -= 1
            if not piece.callers and self._waiting.get(key) is piece:
                del self._waiting[key]
                piece.task.cancel()

    def _begin(self, key: K) -> _Piece[V]:
        task = asyncio.create_task(self._run(key))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self._waiting[key] = piece = _Piece(task)
        return piece

    async def _run(self, key: K) -> V:
        async with self._turn:
            del self._waiting[key]
            return await self._work(key)
