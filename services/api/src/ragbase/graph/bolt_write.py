"""Writes the projection over Bolt, and reads it back for comparison.

Labels and properties are those of the contract (§12): ``:base`` and ``:DIRECTED`` of extraction,
``:Concept``; concepts' relations are ``:RELATED`` with their ``type`` as a property. Only nodes with
a ``ragbase_id`` are ours. A node ``:RagBaseProjection`` tells whose projection this is, and who may
write it: every transaction touches it, so that a writer that was replaced changes nothing more.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import UUID

from ragbase.errors import ConflictError, UpstreamError
from ragbase.storage.graph_mirror import Pair, ProjectedEdge, ProjectedNode
from ragbase.telemetry.logs import get_logger

if TYPE_CHECKING:  # the driver is an optional package
    from ragbase.graph.bolt_driver import Bolt

__all__ = ["LABELS", "BoltWriter", "Counts", "Mark", "Update"]

LABELS: Final = {"base": "DIRECTED", "Concept": "RELATED"}
"""Label of a graph's nodes → type of its relations."""

_OWN = """
    MATCH (p:RagBaseProjection {{one: 1}}) WHERE p.fence = $fence
    SET p.writes = coalesce(p.writes, 0) + 1{more} RETURN p.fence
"""
_CLAIM = """
    MERGE (p:RagBaseProjection {one: 1})
    SET p.fence = CASE WHEN coalesce(p.fence, 0) < $fence THEN $fence ELSE p.fence END
    RETURN p.fence, p.epoch, p.filling
"""
_FENCE = "MATCH (p:RagBaseProjection {one: 1}) RETURN coalesce(p.fence, 0)"
_MARK = "MATCH (p:RagBaseProjection {one: 1}) RETURN p.epoch, p.filling"
_NODES = """
    UNWIND $rows AS row
    MERGE (n:{label} {{ragbase_id: row.id}})
    SET n += row.properties
"""
_NODES_GONE = "UNWIND $ids AS id MATCH (n:{label} {{ragbase_id: id}}) DETACH DELETE n"
# An end whose own note is still to come is made bare; what it says comes with that note.
_EDGES = """
    UNWIND $rows AS row
    MERGE (a:{label} {{ragbase_id: row.source}})
    MERGE (b:{label} {{ragbase_id: row.target}})
    WITH a, b, row
    MERGE (a)-[r:{relation}{key}]->(b)
    SET r += row.properties
"""
# Both ends first: bound, so that the relation is looked for at the end that has fewer.
_EDGES_GONE = """
    UNWIND $rows AS row
    MATCH (a:{label} {{ragbase_id: row.source}})
    MATCH (b:{label} {{ragbase_id: row.target}})
    WITH a, b, row
    MATCH (a)-[r:{relation}]->(b)
    WHERE NOT coalesce(r.type, '') IN row.kept
    DELETE r
"""
_PAGE = """
    MATCH (n:{label}) WHERE n.ragbase_id > $after
    RETURN n.ragbase_id AS id, properties(n) AS properties ORDER BY id LIMIT $most
"""
_PAGE_EDGES = """
    MATCH (a:{label})-[r:{relation}]->(b:{label})
    WHERE a.ragbase_id > $after AND a.ragbase_id <= $upto AND b.ragbase_id IS NOT NULL
    RETURN a.ragbase_id AS source, b.ragbase_id AS target, coalesce(r.type, '') AS type,
        properties(r) AS properties
    ORDER BY source, target, type
"""
_COUNTS = """
    MATCH (n:{label}) RETURN count(n.ragbase_id), count(n) - count(n.ragbase_id)
"""
_COUNT_EDGES = """
    MATCH (a:{label})-[r:{relation}]->(b:{label})
    WHERE a.ragbase_id IS NOT NULL AND b.ragbase_id IS NOT NULL RETURN count(r)
"""


_log = get_logger("ragbase.projection")


class Mark(NamedTuple):
    """Which history of the graph this is a projection of: all of it, or so far a part."""

    epoch: str | None
    filling: str | None


class Counts(NamedTuple):
    """Nodes and relations that are ours, and nodes of the same label that are not."""

    nodes: int
    edges: int
    foreign: int


class Update(NamedTuple):
    """How some nodes and relations of one label stand now; what is looked at and not there, goes."""

    label: str
    ids: Collection[int]
    nodes: Sequence[ProjectedNode]
    pairs: Collection[Pair]
    edges: Sequence[ProjectedEdge]


class BoltWriter:
    """The projection of one server. `claim` first; one writer at a time."""

    def __init__(self, bolt: Bolt) -> None:
        self._bolt = bolt
        self._fence = 0

    async def prepare(self) -> None:
        """Make indexes and constraints, where they are not there.

        One that the store refuses, for something of the like that is there already, is only told of:
        all works without, if slower.
        """
        for statement in (await self._bolt.dialect()).prepare:
            try:
                await self._bolt.command(statement)
            except UpstreamError as error:
                _log.info("graph_store_keeps_its_own", statement=statement, reason=error.message)

    async def last_fence(self) -> int:
        """That of the last writer; 0 where there was none."""
        rows = await self._bolt.scan(_FENCE)
        return int(rows[0][0]) if rows else 0

    async def claim(self, fence: int) -> Mark:
        """Become the only writer. Raises `ConflictError` where a later one has it."""
        [[row]] = await self._bolt.write([(_CLAIM, {"fence": fence})])
        if row[0] != fence:
            raise ConflictError("Another process has become the writer of the projection.")
        self._fence = fence
        return Mark(row[1], row[2])

    async def mark(self) -> Mark:
        """As it stands; both None where nothing was ever projected."""
        rows = await self._bolt.read(_MARK)
        return Mark(*rows[0]) if rows else Mark(None, None)

    async def begin(self, epoch: UUID) -> None:
        """From now on this fills up to be a projection of ``epoch``."""
        await self._own(", p.filling = $epoch", epoch=str(epoch))

    async def complete(self, epoch: UUID) -> None:
        """It is one."""
        await self._own(", p.epoch = $epoch, p.filling = null", epoch=str(epoch))

    async def apply(self, updates: Sequence[Update]) -> None:
        """Make what ``updates`` look at so, in one transaction."""
        await self._own("", *(one for update in updates for one in _statements(update)))

    async def _own(
        self,
        more: str,
        *statements: tuple[str, Mapping[str, Any]],
        epoch: str | None = None,
    ) -> None:
        """In one transaction with the sign that nobody has replaced us, else `ConflictError`."""
        own = _OWN.format(more=more), {"fence": self._fence, "epoch": epoch}
        await self._bolt.write([own, *statements], guarded=True)

    async def nodes(self, label: str, after: int, most: int) -> list[ProjectedNode]:
        """Our nodes with greater ids than ``after``, by id."""
        rows = await self._bolt.scan(_PAGE.format(label=label), after=after, most=most)
        return [ProjectedNode(key, properties) for key, properties in rows]

    async def edges(self, label: str, after: int, upto: int) -> list[ProjectedEdge]:
        """Relations of our nodes, of those whose source's id is in (``after``, ``upto``]."""
        statement = _PAGE_EDGES.format(label=label, relation=LABELS[label])
        rows = await self._bolt.scan(statement, after=after, upto=upto)
        return [ProjectedEdge(*row) for row in rows]

    async def counts(self, label: str) -> Counts:
        """How many nodes and relations there are."""
        [[nodes, foreign]] = await self._bolt.scan(_COUNTS.format(label=label))
        statement = _COUNT_EDGES.format(label=label, relation=LABELS[label])
        [[edges]] = await self._bolt.scan(statement)
        return Counts(nodes, edges, foreign)


def _statements(update: Update) -> list[tuple[str, dict[str, Any]]]:
    """Those that have something to do."""
    label, relation = update.label, LABELS[update.label]
    there = {node.id for node in update.nodes}
    gone = sorted(set(update.ids) - there)
    kept: dict[Pair, list[str]] = {pair: [] for pair in update.pairs}
    for edge in update.edges:
        kept[edge.pair].append(edge.type)
    # A pair of entities has one relation, so one that is there has none to lose.
    looked_at = [
        {"source": source, "target": target, "kept": types}
        for (source, target), types in kept.items()
        if label == "Concept" or not types
    ]
    nodes = [{"id": node.id, "properties": node.properties} for node in update.nodes]
    edges = [
        {
            "source": edge.source,
            "target": edge.target,
            "type": edge.type,
            "properties": edge.properties,
        }
        for edge in update.edges
    ]
    key = " {type: row.type}" if label == "Concept" else ""
    all_of_them = (
        (_NODES_GONE.format(label=label), "ids", gone),
        (_NODES.format(label=label), "rows", nodes),
        (_EDGES_GONE.format(label=label, relation=relation), "rows", looked_at),
        (_EDGES.format(label=label, relation=relation, key=key), "rows", edges),
    )
    return [(statement, {name: rows}) for statement, name, rows in all_of_them if rows]
