"""Puts items of one batch in order where the order decides what is stored."""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

from ragbase.models.documents import DocumentIn

__all__ = ["BatchOrder"]


class _Key(NamedTuple):
    kind: str
    collection: str
    value: str | int


class BatchOrder:
    """Knows which items under way a new one must wait for; for one batch.

    Items of one ``external_id`` are stored in their order, so the last one wins. An item with
    ``dedupe`` waits for those before it that hold the same text, so that the first one is made
    and the others answer with it. All other items are independent.
    """

    def __init__(self) -> None:
        self._under_way: dict[_Key, set[asyncio.Task[Any]]] = {}

    def before(self, body: DocumentIn) -> set[asyncio.Task[Any]]:
        """Items that must be done before ``body`` is worked on."""
        keys = [key for key in _keys(body) if key.kind == "external_id" or body.dedupe]
        return set().union(*(self._under_way.get(key, set()) for key in keys))

    def add(self, body: DocumentIn, task: asyncio.Task[Any]) -> None:
        """Items after this one may have to wait for ``task``, which works on ``body``."""
        keys = _keys(body)
        for key in keys:
            self._under_way.setdefault(key, set()).add(task)
        task.add_done_callback(lambda done: self._forget(keys, done))

    def _forget(self, keys: list[_Key], done: asyncio.Task[Any]) -> None:
        for key in keys:
            tasks = self._under_way[key]
            tasks.discard(done)
            if not tasks:
                del self._under_way[key]


def _keys(body: DocumentIn) -> list[_Key]:
    """What an item writes: its text, by a hash (a collision costs a wait), and its id."""
    keys = [_Key("content", body.collection, hash((body.title, body.content)))]
    if body.external_id is not None:
        keys.append(_Key("external_id", body.collection, body.external_id))
    return keys
