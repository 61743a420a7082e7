"""Compares the projection with the graph, row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from ragbase.graph.bolt_write import LABELS
from ragbase.storage import graph_mirror as mirror
from ragbase.storage.graph_mirror import ProjectedEdge, Properties
from ragbase.storage.graph_outbox import count_changes
from ragbase.storage.pool import Connection

if TYPE_CHECKING:
    from ragbase.graph.bolt_write import BoltWriter

__all__ = ["SHOWN_MAX", "Difference", "Drift", "find_drift"]

SHOWN_MAX: Final = 100
"""Differences that are listed; all are counted."""
_PAGE: Final = 1000

What: TypeAlias = Literal["missing", "extra", "differs"]
_Key: TypeAlias = tuple[Any, ...]
_KINDS: Final = {"base": ("entity", "relation"), "Concept": ("concept", "concept_relation")}
_TABLES: Final = {"base": ("entities", "relations"), "Concept": ("concepts", "concept_relations")}


class Difference(NamedTuple):
    """``key`` is a node's id, or source, target and type of a relation; ``properties`` those that
    differ."""

    kind: str
    key: tuple[Any, ...]
    what: What
    properties: tuple[str, ...] = ()


@dataclass(slots=True)
class Drift:
    """What was found: ``compared`` things of either side, ``foreign`` nodes that are not ours, and
    notes that still ``waiting``: what they tell of may differ."""

    compared: int = 0
    count: int = 0
    foreign: int = 0
    waiting: int = 0
    shown: list[Difference] = field(default_factory=list)

    @property
    def equal(self) -> bool:
        """Whether the projection is the graph."""
        return self.count == 0

    def add(self, found: Iterable[Difference]) -> None:
        """Count them, and list the first."""
        for one in found:
            self.count += 1
            if len(self.shown) < SHOWN_MAX:
                self.shown.append(one)


async def find_drift(
    connection: Connection, writer: BoltWriter, told: Callable[[int], None] = lambda _: None
) -> Drift:
    """Read both in pages and compare; ``told`` hears how many things were compared so far."""
    drift = Drift()
    for label in LABELS:
        after = 0
        while (upto := await _compare_page(connection, writer, label, after, drift)) is not None:
            after = upto
            told(drift.compared)
        drift.foreign += (await writer.counts(label)).foreign
    drift.waiting = await count_changes(connection)
    return drift


async def _compare_page(
    connection: Connection, writer: BoltWriter, label: str, after: int, drift: Drift
) -> int | None:
    """Nodes with ids after ``after`` and the relations that start at them; the last id, or None."""
    nodes_table, edges_table = _TABLES[label]
    ids = await mirror.page_ids(connection, nodes_table, after, _PAGE)
    there = await writer.nodes(label, after, _PAGE)
    ends = [ids[-1]] if len(ids) == _PAGE else []
    ends += [there[-1].id] if len(there) == _PAGE else []
    if not ids and not there:
        return None
    upto = min(ends) if ends else max([*ids[-1:], *(node.id for node in there[-1:])])
    read_nodes = mirror.read_entities if label == "base" else mirror.read_concepts
    wanted = {
        (node.id,): node.properties
        for node in await read_nodes(connection, [one for one in ids if one <= upto])
    }
    found = {(node.id,): node.properties for node in there if node.id <= upto}
    node_kind, edge_kind = _KINDS[label]
    drift.compared += len(wanted.keys() | found.keys())
    drift.add(_differences(node_kind, wanted, found))

    pairs = await mirror.pairs_of(connection, edges_table, after, upto)
    read_edges = mirror.read_relations if label == "base" else mirror.read_concept_relations
    wanted_edges = {_key(edge): edge.properties for edge in await read_edges(connection, pairs)}
    edges = await writer.edges(label, after, upto)
    found_edges = {_key(edge): edge.properties for edge in edges}
    drift.compared += len(wanted_edges.keys() | found_edges.keys())
    drift.add(_differences(edge_kind, wanted_edges, found_edges))
    drift.add(_doubles(edge_kind, edges))
    return upto


def _key(edge: ProjectedEdge) -> _Key:
    return edge.source, edge.target, edge.type


def _differences(
    kind: str, wanted: Mapping[_Key, Properties], found: Mapping[_Key, Properties]
) -> Iterable[Difference]:
    for key in sorted(wanted.keys() | found.keys()):
        if key not in found:
            yield Difference(kind, key, "missing")
        elif key not in wanted:
            yield Difference(kind, key, "extra")
        elif wanted[key] != found[key]:
            names = wanted[key].keys() | found[key].keys()
            differing = (one for one in names if wanted[key].get(one) != found[key].get(one))
            yield Difference(kind, key, "differs", tuple(sorted(differing)))


def _doubles(kind: str, edges: Iterable[ProjectedEdge]) -> Iterable[Difference]:
    """Relations that are there more than once (B091)."""
    seen: set[_Key] = set()
    for edge in edges:
        key = _key(edge)
        if key in seen:
            yield Difference(kind, key, "extra")
        seen.add(key)
