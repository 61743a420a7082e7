"""Runs a coroutine that Ctrl-C and SIGTERM end in order."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["run_until_signal"]

T = TypeVar("T")


def run_until_signal(work: Coroutine[Any, Any, T]) -> T:
    """Its result; a signal cancels it, so that it cleans up, and becomes `KeyboardInterrupt`."""

    async def cancelled_by_sigterm() -> T:
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await work

    try:
        return asyncio.run(cancelled_by_sigterm())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
