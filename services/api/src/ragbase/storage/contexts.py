"""Context lines of chunks that are stored already, and the jobs that make them."""

from __future__ import annotations

from collections.abc import Sequence

from ragbase.models.documents import ContextState
from ragbase.models.domain import ChunkDraft, Vectors
from ragbase.models.jobs import Job
from ragbase.storage.codecs import encode_vectors
from ragbase.storage.jobs import JobDraft, get_job, insert_job
from ragbase.storage.pool import Connection

__all__ = ["context_state", "queue_contexts", "write_contexts"]

_UPDATE = """
    UPDATE chunks c
    SET context = u.context, indexed_content = u.indexed, lexical_text = u.lexical
    FROM unnest($2::bigint[], $3::text[], $4::text[], $5::text[])
        AS u (id, context, indexed, lexical)
    WHERE c.id = u.id AND c.document_id = $1 AND c.context IS NULL
    RETURNING c.id
"""
_VECTORS = """
    INSERT INTO embeddings (chunk_id, document_id, collection_id, model_id, embedding)
    SELECT u.id, c.document_id, c.collection_id, $1, u.embedding
    FROM unnest($2::bigint[], $3::vector[]) AS u (id, embedding) JOIN chunks c ON c.id = u.id
    WHERE c.id = ANY($4::bigint[])
    ON CONFLICT (chunk_id, model_id, kind) DO UPDATE SET embedding = excluded.embedding
"""
_STATE = """
    SELECT d.contextual, count(c.id), count(c.id) FILTER (WHERE c.context IS NOT NULL)
    FROM documents d LEFT JOIN chunks c ON c.document_id = d.id
    WHERE d.id = $1 GROUP BY d.id
"""
_WAITING = """
    SELECT id FROM jobs WHERE document_id = $1 AND kind = 'context' AND state = 'queued' LIMIT 1
"""
_JOB = """
    SELECT id, state FROM jobs WHERE document_id = $1 AND kind = 'context'
    ORDER BY id DESC LIMIT 1
"""


async def queue_contexts(
    connection: Connection, document_id: int, collection_id: int, *, max_attempts: int
) -> Job:
    """Queue the job that makes a document's missing lines, unless one waits; a running one may have
    looked at another version. Also where the queue is full, as the document is stored already.
    """
    waiting = await connection.fetchval(_WAITING, document_id)
    if waiting is not None and (job := await get_job(connection, waiting)) is not None:
        return job
    return await insert_job(
        connection,
        JobDraft(
            kind="context",
            task="context",
            collection_id=collection_id,
            payload={},
            document_id=document_id,
            max_attempts=max_attempts,
        ),
    )


async def write_contexts(
    connection: Connection,
    document_id: int,
    chunk_ids: Sequence[int],
    chunks: Sequence[ChunkDraft],
    vectors: Vectors,
    model_id: int,
) -> int:
    """Give chunk ``chunk_ids[i]`` the line, index text and terms of ``chunks[i]`` and row i of
    ``vectors``; how many were changed.

    Chunks that are gone, or have a line by now, stay as they are: another version, or another job,
    was first. Hold `lock_document`.
    """
    rows = await connection.fetch(
        _UPDATE,
        document_id,
        list(chunk_ids),
        [chunk.context for chunk in chunks],
        [chunk.indexed_content for chunk in chunks],
        [" ".join(chunk.terms) for chunk in chunks],
    )
    changed = [row[0] for row in rows]
    await connection.execute(_VECTORS, model_id, list(chunk_ids), encode_vectors(vectors), changed)
    return len(changed)


async def context_state(connection: Connection, document_id: int) -> ContextState:
    """How many chunks of the document have lines, and what is being done about the others."""
    row = await connection.fetchrow(_STATE, document_id)
    if row is None or not row[0]:
        return ContextState()
    state = ContextState(status="done", done=row[2], total=row[1])
    if state.done == state.total:
        return state
    job = await connection.fetchrow(_JOB, document_id)
    if job is None:
        return state.model_copy(update={"status": "missing"})
    status = job["state"] if job["state"] in ("queued", "running") else "failed"
    return state.model_copy(update={"status": status, "job_id": job["id"]})
