"""The graph's shape read from its projection over Bolt: `ragbase.graph.store.GraphStore`.

Statements are in what Neo4j and Memgraph both understand (`ragbase.graph.bolt_dialects`). A
projection holds no metadata of documents: readings under a filter are Postgres's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ragbase.graph.leiden import numbered
from ragbase.graph.shared_work import SharedWork
from ragbase.graph.store import CompileCondition, LacksReadingError, Step
from ragbase.graph.walks import Link, walk_around, walk_between, walk_out
from ragbase.models.graph_reads import GraphKind

if TYPE_CHECKING:  # the driver is an optional package
    from ragbase.graph.bolt_driver import Bolt

__all__ = ["BoltGraphStore"]

_AROUND = """
    UNWIND $level AS id
    MATCH (s:base {ragbase_id: id})
    OPTIONAL MATCH (s)-[:DIRECTED]->(t:base)
    WITH s, t ORDER BY t.ragbase_id
    WITH s, collect(t.ragbase_id)[..$fanout] AS targets
    OPTIONAL MATCH (s)<-[:DIRECTED]-(t:base)
    WITH s, targets, t ORDER BY t.ragbase_id
    WITH targets, collect(t.ragbase_id)[..$fanout] AS sources, s
    UNWIND targets + sources AS id
    WITH DISTINCT id WHERE NOT id IN $seen
    RETURN id ORDER BY id LIMIT $room
"""
_OUT = """
    UNWIND $level AS id
    MATCH (s:{label} {{ragbase_id: id}})-[:{relation}]->(t:{label})
    WHERE t.collection_id IN $collections
    WITH DISTINCT s, t ORDER BY t.ragbase_id
    WITH s, collect(t.ragbase_id)[..$fanout] AS targets
    UNWIND targets AS id
    WITH DISTINCT id WHERE NOT id IN $seen
    RETURN id ORDER BY id LIMIT $room
"""
_LINKED = """
    UNWIND $level AS via
    MATCH (s:{label} {{ragbase_id: via}})-[:{relation}]-(t:{label})
    WHERE t.collection_id IN $collections
    RETURN t.ragbase_id AS id, min(via) AS via LIMIT $most
"""
_IDS = "MATCH (n:{label}) WHERE n.collection_id IN $collections RETURN n.ragbase_id"

_WORDS: Final[Mapping[GraphKind, Mapping[str, str]]] = {
    "entity": {"label": "base", "relation": "DIRECTED"},
    "concept": {"label": "Concept", "relation": "RELATED"},
}


class BoltGraphStore:
    """See `GraphStore`. Raises `UnavailableError` where the server is away, `LacksReadingError`
    where it lacks an algorithm."""

    def __init__(self, bolt: Bolt) -> None:
        self._bolt = bolt
        self._communities = SharedWork(self._found_communities)

    async def expand(
        self, seeds: Sequence[int], hops: int, filtered: CompileCondition | None = None
    ) -> list[int]:
        """See `GraphStore.expand`."""
        _refuse(filtered)
        return await walk_around(partial(self._reached, _AROUND, {}), seeds, hops)

    async def neighbours(
        self, kind: GraphKind, start: int, depth: int, collections: Sequence[int], limit: int
    ) -> list[Step]:
        """See `GraphStore.neighbours`."""
        statement = _OUT.format(**_WORDS[kind])
        reached = partial(self._reached, statement, {"collections": list(collections)})
        return await walk_out(reached, start, depth, limit)

    async def path(
        self, kind: GraphKind, start: int, end: int, collections: Sequence[int], max_depth: int
    ) -> list[int] | None:
        """See `GraphStore.path`."""
        statement = _LINKED.format(**_WORDS[kind])

        async def linked(level: Sequence[int], most: int) -> list[Link]:
            rows = await self._bolt.read(
                statement, level=list(level), collections=list(collections), most=most
            )
            return [(one, via) for one, via in rows]

        return await walk_between(linked, start, end, max_depth)

    async def communities(self, kind: GraphKind, collections: Sequence[int]) -> dict[int, int]:
        """See `GraphStore.communities`: Louvain by MAGE, where the server is a Memgraph with it.

        One statement runs at a time, as a server computes on behind callers who have left.
        """
        return await self._communities.of((kind, tuple(sorted(set(collections)))))

    async def _found_communities(self, key: tuple[GraphKind, tuple[int, ...]]) -> dict[int, int]:
        kind, collections = key
        statements = (await self._bolt.dialect()).communities
        if statements is None:
            raise LacksReadingError("This graph store finds no communities.")
        wanted = list(collections)
        nodes = await self._bolt.scan(_IDS.format(**_WORDS[kind]), collections=wanted)
        found = await self._bolt.scan(statements[kind], collections=wanted)
        return numbered(dict(map(tuple, found)), [row[0] for row in nodes])

    async def _reached(
        self,
        statement: str,
        given: Mapping[str, Any],
        level: Sequence[int],
        seen: Sequence[int],
        fanout: int,
        room: int,
    ) -> list[int]:
        rows = await self._bolt.read(
            statement, level=list(level), seen=list(seen), fanout=fanout, room=room, **given
        )
        return [row[0] for row in rows]


def _refuse(filtered: CompileCondition | None) -> None:
    if filtered is not None:
        raise ValueError("a projection knows no metadata: read under a filter from Postgres")
