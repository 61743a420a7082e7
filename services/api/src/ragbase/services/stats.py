"""How much is stored: counted at most once in a while, whoever asks."""

from __future__ import annotations

import asyncio
import copy
import time
from collections.abc import Iterable, Mapping
from typing import NamedTuple, Self

from ragbase.models.access import FULL_ACCESS, Access
from ragbase.models.jobs import JobState
from ragbase.models.stats import CollectionStats, StatsOut
from ragbase.storage.pool import Database
from ragbase.storage.stats import StoredCounts, count_everything, storage_bytes

__all__ = ["StatsService"]

KEPT_S = 1.0
KEPT_TIMES = 20
"""Figures are kept this many times as long as counting took: it costs a twentieth of a core at most."""


class StatsService:
    """Counts what ``access`` sees. Figures are up to a second old, of a huge index some seconds."""

    def __init__(
        self, database: Database, *, kept_s: float = KEPT_S, access: Access = FULL_ACCESS
    ) -> None:
        self._figures = _Figures(database, kept_s)
        self._access = access

    def seen_by(self, access: Access) -> Self:
        """The same, for another caller; the figures are shared."""
        bound = copy.copy(self)
        bound._access = access
        return bound

    async def read(self) -> StatsOut:
        """Totals over the collections that may be seen, and each of them."""
        counted = await self._figures.current()
        seen = {
            name: counts
            for name, counts in counted.by_name.items()
            if name is not None and self._access.sees(name)
        }
        unbound = self._access.collections is None
        everything = [*seen.values(), *([counted.by_name[None]] if unbound else [])]
        return StatsOut(
            documents=sum(counts.documents for counts in everything),
            chunks=sum(counts.chunks for counts in everything),
            entities=sum(counts.entities for counts in everything),
            relations=sum(counts.relations for counts in everything),
            jobs=_added(counts.jobs for counts in everything),
            storage_bytes=counted.bytes if unbound else None,
            collections=[_collection(name, seen[name]) for name in sorted(seen)],
        )


class _Counted(NamedTuple):
    by_name: Mapping[str | None, StoredCounts]
    bytes: int


class _Figures:
    """The last count; callers who come while one is under way wait for it."""

    def __init__(self, database: Database, kept_s: float) -> None:
        self._database = database
        self._kept_s = kept_s
        self._lock = asyncio.Lock()
        self._last: _Counted | None = None
        self._until = 0.0

    async def current(self) -> _Counted:
        async with self._lock:
            started = time.monotonic()
            if self._last is None or started >= self._until:
                async with self._database.read() as connection:
                    self._last = _Counted(
                        await count_everything(connection), await storage_bytes(connection)
                    )
                ended = time.monotonic()
                self._until = ended + max(self._kept_s, KEPT_TIMES * (ended - started))
            return self._last


def _collection(name: str, counts: StoredCounts) -> CollectionStats:
    return CollectionStats(
        name=name,
        documents=counts.documents,
        chunks=counts.chunks,
        entities=counts.entities,
        relations=counts.relations,
        jobs=_added([counts.jobs]),
    )


def _added(parts: Iterable[Mapping[JobState, int]]) -> dict[JobState, int]:
    total: dict[JobState, int] = dict.fromkeys(_STATES, 0)
    for part in parts:
        for state, count in part.items():
            total[state] += count
    return total


_STATES: tuple[JobState, ...] = ("queued", "running", "succeeded", "failed", "cancelled")
