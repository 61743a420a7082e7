"""The query's vector: made once, while other work goes on, for every arm that wants it."""

from __future__ import annotations

import asyncio
from typing import Self

from ragbase.clients.embedder import Embedder
from ragbase.models.domain import Vector
from ragbase.retrieval.trace import Trace

__all__ = ["QueryVector"]


class QueryVector:
    """Starts embedding on entry; on exit, what nobody waits for any more is given up."""

    def __init__(self, embedder: Embedder, text: str, trace: Trace) -> None:
        self._embedder = embedder
        self._text = text
        self._trace = trace
        self._task: asyncio.Task[Vector] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._embed())
        return self

    async def __aexit__(self, *_: object) -> None:
        task = self._task
        if task is None:
            return
        if not task.done():
            task.cancel()
            await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # looked at, so that asyncio does not complain if no arm did

    async def get(self) -> Vector:
        """Shape (d,). Raises what the embedder raised. One waiter's time-out leaves the others."""
        if self._task is None:
            raise RuntimeError("the vector is made inside `async with`")
        return await asyncio.shield(self._task)

    async def _embed(self) -> Vector:
        with self._trace.stage("embed"):
            vector, truncated = await self._embedder.embed_query(self._text)
        if truncated:
            self._trace.warn(
                "query_truncated",
                "The query is longer than the embedding model's limit; its vector is that of its "
                "beginning.",
                "embed",
            )
        return vector
