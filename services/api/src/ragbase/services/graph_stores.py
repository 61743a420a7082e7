"""Which store a reading of the graph's shape is put to, and Postgres where that one fails."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias, TypeVar

from ragbase.errors import RagBaseError, UnavailableError, UpstreamError
from ragbase.graph.store import CompileCondition, GraphStore, LacksReadingError, Step
from ragbase.models.graph_reads import GraphKind
from ragbase.retrieval.trace import Trace
from ragbase.storage.graph_outbox import read_epoch
from ragbase.storage.pool import Database
from ragbase.telemetry import metrics
from ragbase.telemetry.logs import get_logger

if TYPE_CHECKING:
    from ragbase.graph.bolt_write import Mark

__all__ = ["WARNING", "GraphReading", "GraphStores", "Projection", "StoreChoice"]

StoreChoice: TypeAlias = Literal["auto", "postgres", "bolt"]
Reading: TypeAlias = Literal["expand", "neighbours", "path", "communities"]

AUTO: Final[frozenset[Reading]] = frozenset()
"""Readings that ``auto`` puts to the projection: those that it answered sooner."""
WARNING: Final = "graph_store_unavailable"
_AWAY: Final = "The graph store (MEMGRAPH_URL) does not answer; the graph was read from Postgres."
_INSTEAD: Final = "The graph was read from Postgres."
_PART: Final = "The graph store (MEMGRAPH_URL) is being filled; the graph was read from Postgres."

_T = TypeVar("_T")
_log = get_logger("ragbase.graph")


class _Marked(Protocol):
    async def mark(self) -> Mark: ...


class Projection:
    """A projection as its readers know it: a store, and whether it holds this graph, all of it."""

    def __init__(self, database: Database, store: GraphStore, marked: _Marked) -> None:
        self.store = store
        self._database = database
        self._marked = marked
        self.problem: str | None = _PART
        """Why nothing is read from it, for people; None: it is read."""
        self.failed: Callable[[], None] = lambda: None
        """Called when a reading failed, so that the next probe comes soon."""

    async def probe(self) -> None:
        """Look again. Raises `UnavailableError` or `UpstreamError` where it does not answer."""
        try:
            mark = await self._marked.mark()
        except RagBaseError:
            self.problem = _AWAY
            raise
        async with self._database.read() as connection:
            epoch = await read_epoch(connection)
        self.problem = None if epoch is not None and mark.epoch == str(epoch) else _PART

    def lost(self, error: RagBaseError) -> None:
        """A reading failed: nothing is read from it until a probe has succeeded."""
        if self.problem is None:
            _log.warning("graph_store_lost", code=error.code, reason=error.message)
        self.problem = _AWAY
        self.failed()


class GraphStores:
    """The stores of one process; `begin` a reading for each request."""

    def __init__(
        self,
        postgres: GraphStore,
        projection: Projection | None = None,
        choice: StoreChoice = "auto",
    ) -> None:
        self._postgres = postgres
        self._projection = projection
        self._choice: StoreChoice = choice

    def begin(self) -> GraphReading:
        """A `GraphStore` that remembers what it went without."""
        return GraphReading(self._postgres, self._projection, self._choice)


class GraphReading:
    """The readings of one request: a `GraphStore`; ``problem`` tells why Postgres stood in."""

    def __init__(
        self, postgres: GraphStore, projection: Projection | None, choice: StoreChoice
    ) -> None:
        self._postgres = postgres
        self._projection = projection
        self._choice = choice
        self.problem: str | None = None

    def warn(self, trace: Trace) -> None:
        """Tell of it in an answer that has warnings."""
        if self.problem == _PART:
            trace.warn("graph_store_filling", self.problem, "graph")
        elif self.problem:
            trace.fail(WARNING, self.problem, "graph")

    async def expand(
        self, seeds: Sequence[int], hops: int, filtered: CompileCondition | None = None
    ) -> list[int]:
        """See `GraphStore.expand`."""
        if filtered is not None:
            return await self._postgres.expand(seeds, hops, filtered)
        return await self._put("expand", lambda store: store.expand(seeds, hops))

    async def neighbours(
        self, kind: GraphKind, start: int, depth: int, collections: Sequence[int], limit: int
    ) -> list[Step]:
        """See `GraphStore.neighbours`."""
        return await self._put(
            "neighbours", lambda store: store.neighbours(kind, start, depth, collections, limit)
        )

    async def path(
        self, kind: GraphKind, start: int, end: int, collections: Sequence[int], max_depth: int
    ) -> list[int] | None:
        """See `GraphStore.path`."""
        return await self._put(
            "path", lambda store: store.path(kind, start, end, collections, max_depth)
        )

    async def communities(self, kind: GraphKind, collections: Sequence[int]) -> dict[int, int]:
        """See `GraphStore.communities`."""
        return await self._put("communities", lambda store: store.communities(kind, collections))

    async def _put(self, reading: Reading, ask: Callable[[GraphStore], Awaitable[_T]]) -> _T:
        projection = self._projection
        if projection is None or self._choice == "postgres":
            return await ask(self._postgres)
        self.problem = self.problem or projection.problem
        if self.problem is None and (self._choice == "bolt" or reading in AUTO):
            try:
                return await ask(projection.store)
            except LacksReadingError as error:
                self.problem = f"{error.message} {_INSTEAD}"
            except (UnavailableError, UpstreamError) as error:
                projection.lost(error)
                metrics.count_degraded(WARNING)
                self.problem = projection.problem
        return await ask(self._postgres)
