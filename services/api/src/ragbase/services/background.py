"""Steps repeated in the background, and the end of the tasks that do it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import NoReturn

from ragbase.errors import RagBaseError

__all__ = ["end", "repeat"]


async def repeat(
    step: Callable[[], Awaitable[None]], every_s: float, failed: Callable[[RagBaseError], None]
) -> NoReturn:
    """``step`` now, and again ``every_s`` after it has ended; ``failed`` is told of our errors."""
    while True:
        try:
            await step()
        except RagBaseError as error:
            failed(error)
        await asyncio.sleep(every_s)


async def end(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Cancel all, then wait for each; one that broke before raises its error."""
    for task in tasks:
        task.cancel()
    for task in tasks:
        with contextlib.suppress(asyncio.CancelledError):
            await task
