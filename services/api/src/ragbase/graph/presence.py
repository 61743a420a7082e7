"""Which collections have an entity graph: remembered, so that searches of the others cost nothing."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from ragbase.graph.entity_names import has_trigrams
from ragbase.storage.pool import Connection, Database
from ragbase.telemetry.logs import get_logger

__all__ = ["GraphPresence"]

EMPTY_KEPT_S: Final = 2.0
"""How late the first entities of a collection may show in searches."""
FOUND_KEPT_S: Final = 60.0
"""An empty graph costs a search little, so that it became empty need not be noticed soon."""
KEPT_MAX: Final = 10_000

_WITH_ENTITIES = """
    SELECT k.id FROM unnest($1::bigint[]) AS k (id)
    WHERE EXISTS (SELECT FROM entities e WHERE e.collection_id = k.id)
"""

_log = get_logger("ragbase.graph")


class GraphPresence:
    """Remembers what a look at the database told, by collection id."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[int, tuple[float, bool]] = {}
        self._trigrams: bool | None = None

    async def among(self, collection_ids: Sequence[int]) -> list[int]:
        """Those of the collections that have entities."""
        now = time.monotonic()
        known = {one: self._known.get(one, (0.0, False)) for one in collection_ids}
        stale = [one for one, (until, _) in known.items() if until <= now]
        if stale:
            known |= await self._look(stale, now)
        return [one for one in collection_ids if known[one][1]]

    async def fuzzy(self, connection: Connection) -> bool:
        """Whether names can be looked up by likeness; a database without pg_trgm is logged once."""
        if self._trigrams is None:
            self._trigrams = await has_trigrams(connection)
            if not self._trigrams:
                _log.warning(
                    "no_trigrams",
                    hint="Postgres lacks the extension pg_trgm: entities are found by their exact "
                    "names and aliases only.",
                )
        return self._trigrams

    async def _look(
        self, collection_ids: Sequence[int], now: float
    ) -> dict[int, tuple[float, bool]]:
        async with self._database.acquire() as connection:
            rows = await connection.fetch(_WITH_ENTITIES, collection_ids)
        found = {row[0] for row in rows}
        if len(self._known) + len(collection_ids) > KEPT_MAX:
            self._known.clear()
        seen = {
            one: (now + (FOUND_KEPT_S if one in found else EMPTY_KEPT_S), one in found)
            for one in collection_ids
        }
        self._known.update(seen)
        return seen
