"""Waiting for what a controller or another process does: none of them sets an event."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from e2e.operator_kit.patience import patience


async def eventually(what: Callable[[], Awaitable[Any]], seconds: float = 30) -> None:
    """Return once ``what`` gives something true; TimeoutError after ``seconds``, or
    later where the machine is busy with other things."""
    async with asyncio.timeout(patience(seconds)):
        while not await what():  # noqa: ASYNC110 - what is waited for sets no event
            await asyncio.sleep(0.02)
