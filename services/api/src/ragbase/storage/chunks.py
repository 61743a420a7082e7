"""Rows of ``chunks``: written once per version of a document, read back for answers."""

from __future__ import annotations

from collections.abc import Sequence

from ragbase.models.domain import ChunkDraft, Metadata, StoredChunk
from ragbase.storage.pool import Connection

__all__ = ["insert_chunks", "list_chunks", "load_chunks"]

_INSERT = """
    INSERT INTO chunks (
        document_id, collection_id, metadata,
        chunk_index, content, indexed_content, token_count, start_offset, end_offset, lexical_text,
        context
    )
    SELECT $1, $2, $3, u.*
    FROM unnest(
        $4::int[], $5::text[], $6::text[], $7::int[], $8::int[], $9::int[], $10::text[], $11::text[]
    ) AS u (chunk_index, content, indexed, tokens, first, after, lexical, context)
    ORDER BY u.chunk_index
    RETURNING id
"""

_SELECT = """
    SELECT c.id, c.document_id, c.chunk_index, c.content, c.indexed_content, c.token_count,
        c.start_offset, c.end_offset, d.title, k.name, d.external_id, c.metadata
    FROM chunks c
    CROSS JOIN LATERAL (
        SELECT d.title, d.external_id FROM documents d WHERE d.id = c.document_id OFFSET 0
    ) d
    CROSS JOIN LATERAL (
        SELECT k.name FROM collections k WHERE k.id = c.collection_id OFFSET 0
    ) k
"""
"""Columns in the order of `StoredChunk`'s fields. ``OFFSET 0`` leaves the planner one order of
joins, the only sensible one: searching for others took longer than the statement itself."""
_SELECT_BARE = _SELECT.replace("c.indexed_content", "''")
_SELECT_ALL = _SELECT.replace("c.metadata", "c.metadata, c.context")


async def insert_chunks(
    connection: Connection,
    document_id: int,
    collection_id: int,
    metadata: Metadata,
    chunks: Sequence[ChunkDraft],
) -> list[int]:
    """Store all chunks of a document by one statement; ids in order of ``index``."""
    if not chunks:
        return []
    rows = await connection.fetch(
        _INSERT,
        document_id,
        collection_id,
        dict(metadata),
        [chunk.index for chunk in chunks],
        [chunk.content for chunk in chunks],
        [chunk.indexed_content for chunk in chunks],
        [chunk.token_count for chunk in chunks],
        [chunk.start for chunk in chunks],
        [chunk.end for chunk in chunks],
        [" ".join(chunk.terms) for chunk in chunks],
        [chunk.context for chunk in chunks],
    )
    return sorted(row[0] for row in rows)


async def load_chunks(
    connection: Connection, chunk_ids: Sequence[int], *, indexed: bool = True
) -> dict[int, StoredChunk]:
    """The chunks of these ids; ids that are gone are left out.

    ``indexed`` false leaves ``indexed_content`` empty: only rerankers read it, and it doubles what
    has to cross the wire.
    """
    if not chunk_ids:
        return {}
    select = _SELECT if indexed else _SELECT_BARE
    rows = await connection.fetch(f"{select} WHERE c.id = ANY($1::bigint[])", chunk_ids)
    return {row[0]: StoredChunk(*row) for row in rows}


async def list_chunks(connection: Connection, document_id: int) -> list[StoredChunk]:
    """All chunks of a document, by ``chunk_index``."""
    rows = await connection.fetch(
        f"{_SELECT_ALL} WHERE c.document_id = $1 ORDER BY c.chunk_index", document_id
    )
    return [StoredChunk(*row) for row in rows]
