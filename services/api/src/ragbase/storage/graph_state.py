"""Where documents stand on their way into the graph, and the jobs that bring them there."""

from __future__ import annotations

from collections.abc import Sequence

from ragbase.models.documents import GraphState
from ragbase.storage.jobs import JobDraft, insert_job
from ragbase.storage.pool import Connection

__all__ = ["graph_state", "graph_states", "queue_extraction"]

_STATES = """
    SELECT d.id, g.document_id IS NOT NULL, j.id, j.state
    FROM unnest($1::bigint[]) AS d (id)
    LEFT JOIN graphed_documents g ON g.document_id = d.id
    LEFT JOIN LATERAL (
        SELECT id, state FROM jobs WHERE document_id = d.id AND kind = 'graph'
        ORDER BY id DESC LIMIT 1
    ) j ON true
"""
_FIRST_CHUNK = "SELECT min(id) FROM chunks WHERE document_id = $1"


async def graph_states(
    connection: Connection, document_ids: Sequence[int]
) -> dict[int, GraphState]:
    """The state of each document: of its last job while that is under way or has failed; ``done``
    where it is in the graph as it stands.
    """
    rows = await connection.fetch(_STATES, list(document_ids))
    return {row[0]: _state(in_graph=row[1], job_id=row[2], job_state=row[3]) for row in rows}


async def graph_state(connection: Connection, document_id: int) -> GraphState:
    """The state of one document."""
    return (await graph_states(connection, [document_id]))[document_id]


async def queue_extraction(
    connection: Connection,
    document_id: int,
    collection_id: int,
    *,
    max_attempts: int,
    key_id: str | None = None,
) -> GraphState:
    """Queue the job for the version that is stored now, unless one is under way.

    The caller's transaction is the one that stores the version, or locks the document. Chunk ids
    are never used again, so the first one names the version.
    """
    first = await connection.fetchval(_FIRST_CHUNK, document_id)
    payload = {"first_chunk": first}
    waiting = await connection.fetchval(
        "SELECT id FROM jobs WHERE document_id = $1 AND kind = 'graph' AND payload = $2 "
        "AND state IN ('queued', 'running') LIMIT 1",
        document_id,
        payload,
    )
    if waiting is not None:
        return GraphState(status="queued", job_id=waiting)
    draft = JobDraft(
        kind="graph",
        task="graph",
        collection_id=collection_id,
        payload=payload,
        document_id=document_id,
        key_id=key_id,
        max_attempts=max_attempts,
    )
    job = await insert_job(connection, draft)
    return GraphState(status="queued", job_id=job.id)


def _state(*, in_graph: bool, job_id: int | None, job_state: str | None) -> GraphState:
    if job_state in ("queued", "running"):
        return GraphState(status="queued" if job_state == "queued" else "running", job_id=job_id)
    if in_graph:
        return GraphState(status="done", job_id=job_id)
    if job_state in ("failed", "cancelled"):
        return GraphState(status="failed", job_id=job_id)
    return GraphState()
