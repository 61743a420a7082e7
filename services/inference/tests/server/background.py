"""A request that runs while the test does something else."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx

from .live import Live


@contextmanager
def asking(live: Live, path: str, body: Any) -> Iterator[Future[httpx.Response]]:
    """The answer to come, of a connection of its own; the block waits for it at its end."""

    def ask() -> httpx.Response:
        return httpx.post(live.url + path, json=body, timeout=30)

    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(ask)
        yield answer
        answer.result(30)
