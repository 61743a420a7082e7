"""A projection in memory, for what depends on Postgres alone; that over Bolt has its own tests."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from uuid import UUID

from ragbase.errors import ConflictError
from ragbase.graph.bolt_write import LABELS, BoltWriter, Counts, Mark, Update
from ragbase.services.projection import Projector
from ragbase.services.projection_check import Drift, find_drift
from ragbase.storage.graph_mirror import ProjectedEdge, ProjectedNode, Properties
from ragbase.storage.pool import Database

__all__ = ["MemoryWriter", "mended", "projecting"]


class MemoryWriter(BoltWriter):
    """What a server would hold; ``before`` is called with each batch, and may raise."""

    def __init__(self) -> None:
        self.before: Callable[[Sequence[Update]], None] = lambda _: None
        self.used = 0
        self.claims = 0
        self.clear()

    def clear(self) -> None:
        """As a server that lost everything."""
        self.stored_nodes: dict[str, dict[int, Properties]] = {label: {} for label in LABELS}
        self.stored_edges: dict[str, dict[tuple[int, int, str], Properties]] = {
            label: {} for label in LABELS
        }
        self._mark = Mark(None, None)

    async def prepare(self) -> None:
        """Nothing to prepare."""

    async def last_fence(self) -> int:
        return self.used

    async def claim(self, fence: int) -> Mark:
        self.claims += 1
        if fence < self.used:
            raise ConflictError("replaced")
        self.used = fence
        return self._mark

    async def mark(self) -> Mark:
        return self._mark

    async def begin(self, epoch: UUID) -> None:
        self._mark = self._mark._replace(filling=str(epoch))

    async def complete(self, epoch: UUID) -> None:
        self._mark = Mark(str(epoch), None)

    async def apply(self, updates: Sequence[Update]) -> None:
        await asyncio.sleep(0)
        self.before(updates)
        for update in updates:
            nodes, edges = self.stored_nodes[update.label], self.stored_edges[update.label]
            there = {node.id: node.properties for node in update.nodes}
            gone = set(update.ids) - there.keys()
            nodes.update(there)
            for one in gone:
                nodes.pop(one, None)
            looked_at = set(update.pairs)
            for key in [*edges]:
                if key[:2] in looked_at or gone.intersection(key[:2]):
                    del edges[key]
            for edge in update.edges:
                edges[edge.source, edge.target, edge.type] = edge.properties
                for end in edge.pair:
                    nodes.setdefault(end, {"ragbase_id": end})

    async def nodes(self, label: str, after: int, most: int) -> list[ProjectedNode]:
        rows = sorted(self.stored_nodes[label].items())
        return [ProjectedNode(*row) for row in rows if row[0] > after][:most]

    async def edges(self, label: str, after: int, upto: int) -> list[ProjectedEdge]:
        rows = sorted(self.stored_edges[label].items())
        return [ProjectedEdge(*key, held) for key, held in rows if after < key[0] <= upto]

    async def counts(self, label: str) -> Counts:
        return Counts(len(self.stored_nodes[label]), len(self.stored_edges[label]), 0)


@asynccontextmanager
async def projecting(dsn: str, writer: BoltWriter, batch: int = 500) -> AsyncIterator[Projector]:
    """With a worker, ended at the end."""
    projector = Projector(dsn, writer, batch=batch, idle_s=0.02)
    projector.start()
    try:
        yield projector
    finally:
        await projector.stop()


async def mended(database: Database, writer: BoltWriter, within_s: float = 20.0) -> Drift:
    """Once the two are equal and nothing waits."""
    deadline = time.monotonic() + within_s
    while True:
        async with database.read() as connection:
            drift = await find_drift(connection, writer)
        if drift.equal and not drift.waiting and (await writer.mark()).epoch:
            return drift
        assert time.monotonic() < deadline, drift
        await asyncio.sleep(0.05)
