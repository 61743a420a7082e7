"""Collections as searches know them: remembered for a moment, so that a search need not ask."""

from __future__ import annotations

import copy
import re
import time
from collections.abc import Sequence
from typing import Self

from ragbase.limits import COLLECTION_NAME
from ragbase.models.access import FULL_ACCESS, Access
from ragbase.models.domain import Collection
from ragbase.storage.collections import list_collections
from ragbase.storage.pool import Database

__all__ = ["KnownCollections"]

KEPT_S = 1.0
"""How late a change made by another replica may show; our own show at once (`forget`)."""
KEPT_MAX = 10_000


class KnownCollections:
    """Looks collections up by name. Absent ones are never remembered."""

    def __init__(
        self, database: Database, kept_s: float = KEPT_S, access: Access = FULL_ACCESS
    ) -> None:
        self._database = database
        self._kept_s = kept_s
        self._access = access
        self._known: dict[str, tuple[float, Collection]] = {}

    def seen_by(self, access: Access) -> Self:
        """The same, with the same memory, for another caller."""
        bound = copy.copy(self)
        bound._access = access
        return bound

    async def find(self, names: Sequence[str]) -> list[Collection]:
        """Those of ``names`` that exist and may be seen, each once, by name.

        The others, and what can be no name, are not asked for, so that time does not tell whether
        they exist.
        """
        now = time.monotonic()
        possible = {name for name in names if re.fullmatch(COLLECTION_NAME, name)}
        wanted = sorted(filter(self._access.sees, possible))
        known = [self._known.get(name) for name in wanted]
        fresh = [each[1] for each in known if each is not None and each[0] > now]
        if len(fresh) == len(wanted):
            return fresh
        async with self._database.acquire() as connection:
            found = await list_collections(connection, wanted)
        if len(self._known) + len(found) > KEPT_MAX:
            self._known.clear()
        self._known.update({each.name: (now + self._kept_s, each) for each in found})
        return found

    def forget(self) -> None:
        """Ask again next time: a collection was made, changed or removed."""
        self._known.clear()
