"""Where the projection stands, for people and scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from ragbase.errors import RagBaseError
from ragbase.graph.bolt_write import LABELS
from ragbase.storage.graph_outbox import count_changes, count_graph, read_epoch
from ragbase.storage.pool import Connection

if TYPE_CHECKING:
    from ragbase.graph.bolt_write import BoltWriter

__all__ = ["ProjectionStatus", "read_status"]


class ProjectionStatus(BaseModel):
    """``complete``: readers use it; ``stored`` and ``projected`` count nodes and relations."""

    reachable: bool
    complete: bool = Field(description="It holds this graph, up to the notes that wait.")
    waiting: int = Field(description="Notes of changes that are still to be followed.")
    stored: dict[str, int]
    projected: dict[str, int]
    foreign: int = Field(description="Nodes under our labels that RagBase did not write.")
    problem: str | None = None


async def read_status(connection: Connection, writer: BoltWriter) -> ProjectionStatus:
    """Count both sides. A store that is away is told of, not raised."""
    epoch = await read_epoch(connection)
    status = ProjectionStatus(
        reachable=True,
        complete=False,
        waiting=await count_changes(connection),
        stored=(await count_graph(connection))._asdict(),
        projected={},
        foreign=0,
    )
    try:
        mark = await writer.mark()
        base, concepts = [await writer.counts(label) for label in LABELS]
    except RagBaseError as error:
        return status.model_copy(update={"reachable": False, "problem": error.message})
    if epoch is None:
        problem = "Nothing projects: no worker with MEMGRAPH_URL has run for a week."
    elif mark.epoch != str(epoch):
        problem = "It is being filled, or waits for a worker with MEMGRAPH_URL that fills it."
    else:
        problem = None
    return status.model_copy(
        update={
            "complete": problem is None,
            "problem": problem,
            "foreign": base.foreign + concepts.foreign,
            "projected": {
                "entities": base.nodes,
                "relations": base.edges,
                "concepts": concepts.nodes,
                "concept_relations": concepts.edges,
            },
        }
    )
