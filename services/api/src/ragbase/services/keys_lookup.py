"""Finds stored keys by id, at a cost to the database that callers cannot raise.

What was found, and what was not, is remembered for a moment in two bounded tables. What is not
remembered is asked for in batches, one after the other with a pause between: however many unknown
keys arrive, the database sees one connection and a bounded number of statements a second.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Generic, TypeVar

from ragbase.errors import DatabaseUnavailableError, OverloadedError, RagBaseError
from ragbase.models.keys import ApiKey

__all__ = ["KeyLookup", "Remembered"]

T = TypeVar("T")
Find = Callable[[Sequence[str]], Awaitable[Mapping[str, ApiKey]]]

KEPT_S = 5.0
"""How late a revocation by another replica may show; our own shows at once (`forget`)."""
KEPT_MAX = 10_000
ABSENT_MAX = 10_000
WAITING_MAX = 1_000
PAUSE_S = 0.01
"""At most 100 statements a second; the first unknown key waits for none."""
TIMEOUT_S = 5.0


class Remembered(Generic[T]):
    """Values kept for ``seconds``, at most ``size`` of them; the oldest goes first."""

    def __init__(self, seconds: float, size: int) -> None:
        self._seconds = seconds
        self._size = size
        self._values: dict[str, tuple[float, T]] = {}  # in the order in which they end

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: str) -> T | None:
        """The value, unless its time is over."""
        found = self._values.get(key)
        return found[1] if found is not None and found[0] > time.monotonic() else None

    def put(self, key: str, value: T) -> None:
        """Keep a value from now on."""
        self._values.pop(key, None)
        if len(self._values) >= self._size:
            del self._values[next(iter(self._values))]
        self._values[key] = (time.monotonic() + self._seconds, value)

    def forget(self, key: str) -> None:
        """Keep it no longer."""
        self._values.pop(key, None)


class KeyLookup:
    """Keys by id, out of memory where they were asked for a moment ago."""

    def __init__(self, find: Find, *, kept_s: float = KEPT_S, pause_s: float = PAUSE_S) -> None:
        self._find = find
        self._pause_s = pause_s
        self._present: Remembered[ApiKey] = Remembered(kept_s, KEPT_MAX)
        self._absent: Remembered[bool] = Remembered(kept_s, ABSENT_MAX)
        self._waiting: dict[str, asyncio.Future[ApiKey | None]] = {}
        self._asking: asyncio.Task[None] | None = None
        self._changes = 0

    async def get(self, key_id: str) -> ApiKey | None:
        """The key of this id, revoked or not; None when there is none.

        Raises `DatabaseUnavailableError` when it is not remembered and cannot be asked for, and
        `OverloadedError` when too many wait for an answer already.
        """
        key = self._present.get(key_id)
        if key is not None or self._absent.get(key_id):
            return key
        return await asyncio.shield(self._ask(key_id))

    def forget(self, key_id: str) -> None:
        """Ask again next time: the key was made or revoked. An answer under way is not kept."""
        self._changes += 1
        self._present.forget(key_id)
        self._absent.forget(key_id)

    async def stop(self) -> None:
        """End what is under way; who still waits is cancelled."""
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.wait([self._asking])
        for future in self._waiting.values():
            future.cancel()

    def _ask(self, key_id: str) -> asyncio.Future[ApiKey | None]:
        future = self._waiting.get(key_id)
        if future is None:
            if len(self._waiting) >= WAITING_MAX:
                raise OverloadedError("Too many unknown API keys at once; try again shortly.")
            future = self._waiting[key_id] = asyncio.get_running_loop().create_future()
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._answer_all())
        return future

    async def _answer_all(self) -> None:
        while self._waiting:
            asked, self._waiting = self._waiting, {}
            try:
                await self._answer(asked)
            finally:  # also when this task is cancelled
                for future in asked.values():
                    future.cancel()
            await asyncio.sleep(self._pause_s)

    async def _answer(self, asked: Mapping[str, asyncio.Future[ApiKey | None]]) -> None:
        changes = self._changes
        try:
            async with asyncio.timeout(TIMEOUT_S):
                found = await self._find(list(asked))
        except Exception as error:  # noqa: BLE001 - whatever it is, those who wait must learn of it
            _fail(list(asked.values()), error)
            return
        for key_id, future in asked.items():
            key = found.get(key_id)
            if changes == self._changes:
                self._remember(key_id, key)
            if not future.done():
                future.set_result(key)

    def _remember(self, key_id: str, key: ApiKey | None) -> None:
        if key is None:
            self._absent.put(key_id, True)
        else:
            self._present.put(key_id, key)


def _fail(futures: Sequence[asyncio.Future[ApiKey | None]], cause: Exception) -> None:
    """Nobody is told "invalid key" because the database is away."""
    for future in futures:
        if not future.done():
            future.set_exception(_told(cause))
            future.exception()  # the one who asked may have gone


def _told(cause: Exception) -> Exception:
    if not isinstance(cause, RagBaseError | TimeoutError):
        return cause
    error = DatabaseUnavailableError("API keys cannot be checked: the database is away.")
    error.__cause__ = cause
    return error
