"""Ending tasks that run in the background."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

__all__ = ["end"]


async def end(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Cancel all, then wait for each; one that broke before raises its error."""
    for task in tasks:
        task.cancel()
    for task in tasks:
        with contextlib.suppress(asyncio.CancelledError):
            await task
