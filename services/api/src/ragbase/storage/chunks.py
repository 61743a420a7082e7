"""Rows of ``chunks``: written once per version of a document, read back for answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ragbase.models.domain import ChunkDraft, Metadata, StoredChunk
from ragbase.storage.pool import Connection

if TYPE_CHECKING:
    import asyncpg

__all__ = [
    "chunks_beside",
    "document_ids",
    "insert_chunks",
    "list_chunks",
    "load_chunks",
    "with_chunks",
]

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

_COLUMNS = """c.id, c.document_id, c.chunk_index, c.content, c.indexed_content, c.token_count,
        c.start_offset, c.end_offset, d.title, k.name, d.external_id, c.metadata"""
"""In the order of `StoredChunk`'s fields."""
_COLUMNS_BARE = _COLUMNS.replace("c.indexed_content", "''")
_COLUMNS_ALL = f"{_COLUMNS}, c.context"
_COUNT = 12

_FROM = """
    FROM chunks c
    CROSS JOIN LATERAL (
        SELECT d.title, d.external_id FROM documents d WHERE d.id = c.document_id OFFSET 0
    ) d
    CROSS JOIN LATERAL (
        SELECT k.name FROM collections k WHERE k.id = c.collection_id OFFSET 0
    ) k
"""
"""``OFFSET 0`` leaves the planner one order of joins, the only sensible one: searching for others
took longer than the statement itself."""

_WITH_CHUNKS = """
SELECT h.*, r.*
FROM ({statement}) h
LEFT JOIN LATERAL (
    SELECT {columns} {source} WHERE c.id = h.chunk_id OFFSET 0
) r ON true
ORDER BY {order}
"""


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
    columns = _COLUMNS if indexed else _COLUMNS_BARE
    rows = await connection.fetch(
        f"SELECT {columns} {_FROM} WHERE c.id = ANY($1::bigint[])", chunk_ids
    )
    return {row[0]: StoredChunk(*row) for row in rows}


async def document_ids(connection: Connection, chunk_ids: Sequence[int]) -> dict[int, int]:
    """Document by chunk; ids that are gone are left out."""
    rows = await connection.fetch(
        "SELECT c.id, c.document_id FROM chunks c WHERE c.id = ANY($1::bigint[])", chunk_ids
    )
    return {row[0]: row[1] for row in rows}


def with_chunks(statement: str, order: str) -> str:
    """``statement``, which selects a ``chunk_id``, with the chunk's row beside each of its rows.

    Spares an answer the second statement and the way to the server. ``order``: that of the
    statement, by its columns with ``h.`` before them. Read by `chunks_beside`.
    """
    return _WITH_CHUNKS.format(
        statement=statement, columns=_COLUMNS_BARE, source=_FROM, order=order
    )


def chunks_beside(rows: Iterable[asyncpg.Record]) -> dict[int, StoredChunk]:
    """The chunks in the rows of a statement `with_chunks`, ``indexed_content`` left empty."""
    found = (StoredChunk(*row[-_COUNT:]) for row in rows)
    return {chunk.id: chunk for chunk in found if chunk.id is not None}


async def list_chunks(connection: Connection, document_id: int) -> list[StoredChunk]:
    """All chunks of a document, by ``chunk_index``."""
    rows = await connection.fetch(
        f"SELECT {_COLUMNS_ALL} {_FROM} WHERE c.document_id = $1 ORDER BY c.chunk_index",
        document_id,
    )
    return [StoredChunk(*row) for row in rows]
