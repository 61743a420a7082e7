"""Communities of the graph in Postgres, computed in a thread and kept until the graph changes."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from ragbase.errors import InvalidInputError
from ragbase.graph.leiden import numbered, partition
from ragbase.graph.shared_work import SharedWork
from ragbase.models.graph_reads import GraphKind
from ragbase.storage.pool import Connection, Database

__all__ = ["COMMUNITIES_MAX", "PostgresCommunities"]

COMMUNITIES_MAX: Final = 200_000
"""Most nodes, and most relations, of a graph whose communities are computed: 2 s, 100 MB."""
_KEPT_MAX: Final = 32
"""Answers that are kept, of `COMMUNITIES_MAX` nodes together at most."""

# Ids are never used again and ends never change, so count, greatest id and a sum of hashes tell any
# change of the graph.
_SUMS: Final = "count(*) AS count, max({0}.id) AS last, sum(hashint8({0}.id)) AS hashes"
_STATE: Final[Mapping[GraphKind, str]] = {
    "entity": f"""
        SELECT n.count, n.last, n.hashes, r.count, r.last, r.hashes
        FROM (SELECT {_SUMS.format("e")} FROM entities e
                WHERE e.collection_id = ANY($1::bigint[])) n,
            (SELECT {_SUMS.format("e")} FROM relations e
                WHERE e.collection_id = ANY($1::bigint[])) r
    """,  # noqa: S608 - constants
    "concept": f"""
        SELECT n.count, n.last, n.hashes, r.count, r.last, r.hashes
        FROM (SELECT {_SUMS.format("c")} FROM concepts c
                WHERE c.collection_id = ANY($1::bigint[])) n,
            (SELECT {_SUMS.format("r")} FROM concept_relations r
                JOIN concepts c ON c.id = r.source_id
                WHERE c.collection_id = ANY($1::bigint[])) r
    """,  # noqa: S608 - constants
}
_NODES: Final[Mapping[GraphKind, str]] = {
    "entity": "SELECT id FROM entities WHERE collection_id = ANY($1::bigint[])",
    "concept": "SELECT id FROM concepts WHERE collection_id = ANY($1::bigint[])",
}
_EDGES: Final[Mapping[GraphKind, str]] = {
    "entity": """
        SELECT least(source_id, target_id), greatest(source_id, target_id), count(*)::float8
        FROM relations WHERE collection_id = ANY($1::bigint[]) GROUP BY 1, 2 ORDER BY 1, 2
    """,
    "concept": """
        SELECT least(r.source_id, r.target_id), greatest(r.source_id, r.target_id),
            count(*)::float8
        FROM concept_relations r JOIN concepts c ON c.id = r.source_id
        WHERE c.collection_id = ANY($1::bigint[]) AND r.source_id <> r.target_id
        GROUP BY 1, 2 ORDER BY 1, 2
    """,
}
_Key: TypeAlias = tuple[GraphKind, tuple[int, ...]]


class _State(NamedTuple):
    """What changes whenever a node or relation comes or goes."""

    nodes: int
    last_node: int | None
    node_hashes: int | None
    relations: int
    last_relation: int | None
    relation_hashes: int | None


class PostgresCommunities:
    """Remembers what it computed for as long as the same nodes and relations are there."""

    def __init__(self, database: Database, most: int = COMMUNITIES_MAX) -> None:
        self._database = database
        self._most = most
        self._kept: OrderedDict[_Key, tuple[_State, dict[int, int]]] = OrderedDict()
        self._shared = SharedWork(self._compute)

    async def of(self, kind: GraphKind, collections: Sequence[int]) -> dict[int, int]:
        """Every node of the collections → its community, from 0, the largest first; −1: isolated.

        Directions are ignored, parallel relations count each. One computation runs at a time; it
        goes on, and its answer is kept, where callers do not wait for it. Raises
        `InvalidInputError` (``graph_too_large``) beyond the bound. Do not change the answer.
        """
        key: _Key = (kind, tuple(sorted(set(collections))))
        async with self._database.acquire() as connection:
            state = await _state(connection, key)
        if (known := self._known(key, state)) is not None:
            return known
        self._check_size(state)
        return await self._shared.of(key)

    async def _compute(self, key: _Key) -> dict[int, int]:
        async with self._database.acquire() as connection:
            state = await _state(connection, key)
            if (known := self._known(key, state)) is not None:
                return known
            self._check_size(state)
            # Read after the state: what changes in between makes the next call compute again.
            nodes = await connection.fetch(_NODES[key[0]], key[1])
            edges = await connection.fetch(_EDGES[key[0]], key[1])
        found = await asyncio.to_thread(_computed, nodes, edges)
        self._keep(key, state, found)
        return found

    def _known(self, key: _Key, state: _State) -> dict[int, int] | None:
        kept = self._kept.get(key)
        if kept is None or kept[0] != state:
            return None
        self._kept.move_to_end(key)
        return kept[1]

    def _keep(self, key: _Key, state: _State, found: dict[int, int]) -> None:
        self._kept[key] = (state, found)
        self._kept.move_to_end(key)
        while len(self._kept) > 1 and (
            len(self._kept) > _KEPT_MAX
            or sum(len(answer) for _, answer in self._kept.values()) > self._most
        ):
            self._kept.popitem(last=False)

    def _check_size(self, state: _State) -> None:
        if max(state.nodes, state.relations) > self._most:
            raise InvalidInputError(
                f"Communities are computed of at most {self._most} nodes and relations "
                f"(RAGBASE_COMMUNITIES_MAX); here are {state.nodes} and {state.relations}.",
                code="graph_too_large",
            )


async def _state(connection: Connection, key: _Key) -> _State:
    row = await connection.fetchrow(_STATE[key[0]], key[1])
    assert row is not None
    return _State(*row)


def _computed(nodes: Sequence[Any], edges: Sequence[Any]) -> dict[int, int]:
    """Of rows: (id) and (node, node, weight)."""
    return numbered(partition((row[0], row[1], row[2]) for row in edges), (row[0] for row in nodes))
