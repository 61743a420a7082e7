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

    Items of one ``external_id`` are stored in their order, so the last one wins. So are items of
    the same text where one of two has ``dedupe``, so that it answers with the one before it. All
    other items are independent.
    """

    def __init__(self) -> None:
        self._under_way: dict[_Key, set[asyncio.Task[Any]]] = {}

    def before(self, body: DocumentIn) -> set[asyncio.Task[Any]]:
        """Items that must be done before ``body`` is worked on."""
        keys = [*_external_id(body), _text(body, "text" if body.dedupe else "deduped text")]
        return set().union(*(self._under_way.get(key, set()) for key in keys))

    def add(self, body: DocumentIn, task: asyncio.Task[Any]) -> None:
        """Items after this one may have to wait for ``task``, which works on ``body``."""
        keys = [*_external_id(body), _text(body, "text")]
        if body.dedupe:
            keys.append(_text(body, "deduped text"))
        for key in keys:
            self._under_way.setdefault(key, set()).add(task)
        task.add_done_callback(lambda done: self._forget(keys, done))

    def _forget(self, keys: list[_Key], done: asyncio.Task[Any]) -> None:
        for key in keys:
            tasks = self._under_way[key]
            tasks.discard(done)
            if not tasks:
                del self._under_way[key]


def _external_id(body: DocumentIn) -> list[_Key]:
    if body.external_id is None:
        return []
    return [_Key("external_id", body.collection, body.external_id)]


def _text(body: DocumentIn, kind: str) -> _Key:
    """By a hash: two texts of one hash cost a wait, nothing else."""
    return _Key(kind, body.collection, hash((body.title, body.content)))
