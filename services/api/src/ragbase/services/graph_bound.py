"""What the services over graphs share: bound to a caller's collections, and off with the graph."""

from __future__ import annotations

from ragbase.errors import UnavailableError
from ragbase.models.access import FULL_ACCESS, Access
from ragbase.services.bound import CollectionBound
from ragbase.services.collections import CollectionService
from ragbase.storage.collections import DEFAULT
from ragbase.storage.pool import Database

__all__ = ["GraphBound", "shown"]


class GraphBound(CollectionBound):
    """A service that answers 503 ``graph_off`` where the server keeps no graph."""

    def __init__(
        self,
        database: Database,
        collections: CollectionService,
        *,
        enabled: bool,
        access: Access = FULL_ACCESS,
    ) -> None:
        self._database = database
        self._enabled = enabled
        super().__init__(collections, access)

    def _require_graph(self) -> None:
        if not self._enabled:
            raise UnavailableError("Graph engine is disabled", code="graph_off")

    async def _named(self, collection: str | None) -> list[str] | None:
        """Names to look in: the one asked for, else all that may be seen (None: no condition).

        Raises `NotFoundError`.
        """
        if collection is None:
            return self._visible
        return [(await self._collections.get(collection)).name]


def shown(collection: str) -> dict[str, str]:
    """The field ``collection`` of an answer; left out for `default`, as in requests."""
    return {} if collection == DEFAULT else {"collection": collection}
