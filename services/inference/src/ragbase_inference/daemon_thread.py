"""A blocking call on a thread that does not keep the process alive."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

__all__ = ["in_daemon_thread"]

T = TypeVar("T")


async def in_daemon_thread(call: Callable[[], T]) -> T:
    """Result of ``call``, which nothing waits for once the caller is cancelled.

    `asyncio.to_thread` would: a server told to end during a download would end after it.
    """
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()  # from here on the call is made, whoever waits

    def run() -> None:
        try:
            result = call()
        except BaseException as error:  # noqa: BLE001 - the caller's to see
            future.set_exception(error)
        else:
            future.set_result(result)

    threading.Thread(target=run, name="load", daemon=True).start()
    return await asyncio.wrap_future(future)
