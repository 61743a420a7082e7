"""Waits until a collection's entity graph is there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from ragbase.models.stats import CollectionStats
from ragbase.sdk import AsyncClient

__all__ = ["wait_for_graph"]

POLL_S: Final = 0.5


async def wait_for_graph(
    client: AsyncClient, collection: str, progress: Callable[[str, int, int], None]
) -> bool:
    """Return when no job of the collection is under way: whether it has entities.

    Jobs that keep failing end by themselves, so this ends too.
    """
    most = 0
    while True:
        found = await _stats(client, collection)
        left = found.jobs.get("queued", 0) + found.jobs.get("running", 0)
        most = max(most, left)
        if most:
            progress("graph", most - left, most)
        if not left:
            return found.entities > 0
        await asyncio.sleep(POLL_S)


async def _stats(client: AsyncClient, collection: str) -> CollectionStats:
    stats = await client.stats()
    return next(
        (one for one in stats.collections if one.name == collection),
        CollectionStats(name=collection),
    )
