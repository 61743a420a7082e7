"""The graph arm's place in a search: chunks reached through the entities that a query names.

No implementation is configured yet. A search without one goes on without the arm, and says so when
the request asked for it.
"""

from __future__ import annotations

from typing import Literal, Protocol

from ragbase.models.domain import Hit
from ragbase.retrieval.arms import ArmQuery
from ragbase.retrieval.trace import Trace

__all__ = ["GraphArm", "warn_of_no_graph"]


class GraphArm(Protocol):
    """An `Arm` that ranks chunks by their nearness to the query's entities."""

    @property
    def name(self) -> Literal["graph"]: ...

    async def retrieve(self, query: ArmQuery) -> list[Hit]:
        """As `Arm.retrieve`; a query that names no known entity gives no hits."""
        ...


def warn_of_no_graph(trace: Trace) -> None:
    """Say that the search went without a graph because none is configured."""
    trace.warn(
        "graph_unavailable",
        "No graph is configured on this server; the other arms answered.",
        "graph",
    )
