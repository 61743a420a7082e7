"""The shape of a graph: neighbours, paths, communities, counts; of concepts or of entities."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from operator import itemgetter

from ragbase.errors import DeadlineExceededError, NotFoundError
from ragbase.graph.leiden import ISOLATED
from ragbase.models.access import FULL_ACCESS, Access
from ragbase.models.graph_reads import GraphCounts, GraphKind, NeighbourOut, NodeOut
from ragbase.retrieval.trace import Trace
from ragbase.services.collections import CollectionService
from ragbase.services.graph_bound import GraphBound
from ragbase.services.graph_stores import GraphReading, GraphStores
from ragbase.storage.graph_nodes import (
    GraphNode,
    all_nodes,
    count_graphs,
    load_nodes,
    locate_nodes,
)
from ragbase.storage.pool import Database

__all__ = ["GraphReadService"]

_NOT_FOUND = {
    "concept": ("Concept not found", "concept_not_found"),
    "entity": ("Entity not found", "entity_not_found"),
}


class GraphReadService(GraphBound):
    """Reads graphs of the collections that ``access`` sees; no relation leads out of one.

    A ``trace`` is told where the store that should have answered did not. Every call raises
    `UnavailableError`: ``graph_off`` where the graph is off, or where Postgres is down.
    """

    def __init__(
        self,
        database: Database,
        collections: CollectionService,
        stores: GraphStores,
        *,
        timeout_s: float,
        enabled: bool = True,
        access: Access = FULL_ACCESS,
    ) -> None:
        super().__init__(database, collections, enabled=enabled, access=access)
        self._stores = stores
        self._timeout_s = timeout_s

    async def neighbours(
        self, kind: GraphKind, start: int, *, depth: int, limit: int, trace: Trace
    ) -> list[NeighbourOut]:
        """What outgoing relations reach within ``depth`` steps, without the start.

        Each node once, at its least depth; by depth, name and id. Raises `NotFoundError`,
        `DeadlineExceededError`.
        """
        self._require_graph()
        async with self._database.read() as connection:
            located = await locate_nodes(connection, kind, [start], self._visible)
        if start not in located:
            text, code = _NOT_FOUND[kind]
            raise NotFoundError(text, code=code)
        collection = located[start]
        async with self._reading(trace) as reading:
            steps = await reading.neighbours(kind, start, depth, [collection], limit)
        async with self._database.read() as connection:
            nodes = await load_nodes(connection, kind, [step.id for step in steps], collection)
        found = [
            NeighbourOut(**nodes[step.id]._asdict(), depth=step.depth)
            for step in steps
            if step.id in nodes
        ]
        return sorted(found, key=lambda node: (node.depth, node.name, node.id))

    async def path(
        self, kind: GraphKind, start: int, end: int, *, max_depth: int, trace: Trace
    ) -> list[NodeOut]:
        """A shortest path of at most ``max_depth`` relations, either way, both ends included.

        Raises `NotFoundError` where there is none or an end is unknown, `InvalidInputError`
        (``path_too_wide``), `DeadlineExceededError`.
        """
        self._require_graph()
        async with self._database.read() as connection:
            located = await locate_nodes(connection, kind, [start, end], self._visible)
        collection = located.get(start)
        if collection is None or located.get(end) != collection:
            raise _no_path()
        async with self._reading(trace) as reading:
            ids = await reading.path(kind, start, end, [collection], max_depth)
        if ids is None:
            raise _no_path()
        async with self._database.read() as connection:
            nodes = await load_nodes(connection, kind, ids, collection)
        if len(nodes) < len(ids):
            raise _no_path()  # some of it was removed since
        return [NodeOut(**nodes[one]._asdict()) for one in ids]

    async def communities(
        self, kind: GraphKind, collection: str, trace: Trace
    ) -> list[tuple[GraphNode, int]]:
        """Every node with its community, by community, name and id; −1: without relations.

        Raises `NotFoundError` for the collection, `InvalidInputError` (``graph_too_large``),
        `DeadlineExceededError`: they are computed all the same, so that a later call finds them.
        """
        self._require_graph()
        where = await self._collections.get(collection)
        async with self._reading(trace) as reading:
            found = await reading.communities(kind, [where.id])
        async with self._database.read() as connection:
            nodes = await all_nodes(connection, kind, [where.id])
        return await asyncio.to_thread(_in_communities, nodes, found)

    async def counts(self, collection: str | None = None) -> GraphCounts:
        """How much there is in a collection, or in all that may be seen. Raises `NotFoundError`."""
        self._require_graph()
        names = await self._named(collection)
        async with self._database.read() as connection:
            concepts, relations, entities, between = await count_graphs(connection, names)
        return GraphCounts(
            concepts=concepts, relations=relations, entities=entities, entity_relations=between
        )

    @asynccontextmanager
    async def _reading(self, trace: Trace) -> AsyncIterator[GraphReading]:
        """A reading of the store within the time budget."""
        reading = self._stores.begin()
        try:
            async with asyncio.timeout(self._timeout_s):
                yield reading
        except TimeoutError:
            raise DeadlineExceededError(
                "The graph did not answer within RAGBASE_GRAPH_TIMEOUT.", code="graph_timeout"
            ) from None
        reading.warn(trace)


def _no_path() -> NotFoundError:
    return NotFoundError("No path found", code="no_path")


def _in_communities(
    nodes: list[GraphNode], communities: dict[int, int]
) -> list[tuple[GraphNode, int]]:
    """``nodes`` stay in their order within a community."""
    rows = [(node, communities.get(node.id, ISOLATED)) for node in nodes]
    rows.sort(key=itemgetter(1))
    return rows
