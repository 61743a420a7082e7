"""Start a server again that died under its owner."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ragbase.embedded.server import EmbeddedPostgres
from ragbase.errors import ConfigurationError

__all__ = ["kept_running"]


@contextmanager
def kept_running(
    postgres: EmbeddedPostgres,
    *,
    on_restart: Callable[[], None] = lambda: None,
    on_failure: Callable[[ConfigurationError], None] = lambda _: None,
    check_every_s: float = 1.0,
    retry_after_s: float = 10.0,
) -> Iterator[None]:
    """While the block runs, start ``postgres`` again where it ends by itself (killed, no memory).

    It keeps its address, so that connection pools find it again. What cannot be started is tried
    again after ``retry_after_s``. The callbacks run in a thread of their own.
    """
    over = threading.Event()

    def watch() -> None:
        wait = check_every_s
        while not over.wait(wait):
            wait = check_every_s
            if postgres.running:
                continue
            try:
                postgres.start()
            except ConfigurationError as error:
                wait = retry_after_s
                on_failure(error)
            else:
                on_restart()

    watcher = threading.Thread(target=watch, name="postgres-watch", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
