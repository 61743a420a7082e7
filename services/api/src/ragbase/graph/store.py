"""What is read of a graph's shape, whichever store answers.

Two implementations, the same answers in the same order: `ragbase.graph.postgres`, where the graph is
canonical, and `ragbase.graph.bolt`, a projection of it into Memgraph or Neo4j. A store answers with
ids. Their texts are read from Postgres, so that a projection that lags behind shows nothing that was
deleted: what no longer exists, or may not be seen, falls out there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol, TypeAlias

from ragbase.errors import UnavailableError
from ragbase.graph.rows import RowCondition
from ragbase.models.graph_reads import GraphKind

__all__ = [
    "FANOUT",
    "NODES_MAX",
    "PATH_NODES_MAX",
    "CompileCondition",
    "GraphStore",
    "LacksReadingError",
    "Step",
]

CompileCondition: TypeAlias = Callable[[int], RowCondition]
"""Makes the condition on chunks, its parameters numbered from the given one on."""

FANOUT: Final = 100
"""Of a node's relations a step follows those to so many nodes of least id, in each direction."""
NODES_MAX: Final = 200
"""Entities of an expansion: nearer ones and lower ids first."""
PATH_NODES_MAX: Final = 50_000
"""Nodes looked at for a path; a search that would need more gives up."""


class LacksReadingError(UnavailableError):
    """The store is well, but has no such reading, and will have none later."""

    code = "graph_store_unavailable"


class Step(NamedTuple):
    """A node and its least distance from the start, in relations (1 or more)."""

    id: int
    depth: int


class GraphStore(Protocol):
    """Reads; ids are those of ``entities`` or ``concepts``, ``collections`` the ids of collections.

    Every method raises `UnavailableError` where its store does not answer.
    """

    async def expand(
        self, seeds: Sequence[int], hops: int, filtered: CompileCondition | None = None
    ) -> list[int]:
        """Entities within ``hops`` relations of the seeds, either way: the seeds in their order,
        then nearer ones and lower ids first; at most `NODES_MAX`, `FANOUT` of a node and direction.

        ``filtered``: a relation counts that a matching chunk tells of, a seed that one names.
        """

    async def neighbours(
        self, kind: GraphKind, start: int, depth: int, collections: Sequence[int], limit: int
    ) -> list[Step]:
        """What outgoing relations reach from ``start`` in 1…``depth`` steps, without the start.

        Each once, at its least distance, by (distance, id); at most ``limit``. Of the start's
        relations those to the ``limit`` nodes of least id are followed, of others' `FANOUT`.
        An unknown start has no neighbours.
        """

    async def path(
        self, kind: GraphKind, start: int, end: int, collections: Sequence[int], max_depth: int
    ) -> list[int] | None:
        """A shortest path of at most ``max_depth`` relations, both ends included, directions
        ignored; None where there is none. Which of several is fixed.

        The ends are nodes of the collections: callers have looked. Raises `InvalidInputError` (``path_too_wide``) beyond `PATH_NODES_MAX` nodes.
        """

    async def communities(self, kind: GraphKind, collections: Sequence[int]) -> dict[int, int]:
        """Node → its community, numbered from 0; −1 for a node without relations.

        All nodes of the collections are there, by id. Directions are ignored.
        """
