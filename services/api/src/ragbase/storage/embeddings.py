"""Rows of ``embeddings``: one vector a chunk, model and kind."""

from __future__ import annotations

from collections.abc import Sequence

from ragbase.models.domain import Vector, Vectors
from ragbase.storage.codecs import encode_vectors
from ragbase.storage.embedding_models import VectorKind
from ragbase.storage.pool import Connection

__all__ = ["insert_vectors", "vectors_by_indexed_content"]


async def insert_vectors(
    connection: Connection,
    document_id: int,
    collection_id: int,
    model_id: int,
    chunk_ids: Sequence[int],
    vectors: Vectors,
    *,
    kind: VectorKind = "content",
) -> None:
    """Store row i of ``vectors`` (shape (n, d)) for chunk i."""
    if len(chunk_ids) != len(vectors):
        raise ValueError(f"{len(vectors)} vectors for {len(chunk_ids)} chunks")
    if not chunk_ids:
        return
    await connection.execute(
        """
        INSERT INTO embeddings (chunk_id, document_id, collection_id, model_id, kind, embedding)
        SELECT u.chunk_id, $1, $2, $3, $6, u.embedding
        FROM unnest($4::bigint[], $5::vector[]) AS u (chunk_id, embedding)
        """,
        document_id,
        collection_id,
        model_id,
        chunk_ids,
        encode_vectors(vectors),
        kind,
    )


async def vectors_by_indexed_content(
    connection: Connection, document_id: int, model_id: int
) -> dict[str, Vector]:
    """Vectors of a document's chunks by the text they were made from, for use in its next
    version: chunks that did not change need not be embedded again.
    """
    rows = await connection.fetch(
        "SELECT c.indexed_content, e.embedding FROM chunks c JOIN embeddings e ON e.chunk_id = c.id "
        "WHERE c.document_id = $1 AND e.model_id = $2 AND e.kind = 'content'",
        document_id,
        model_id,
    )
    return {row[0]: row[1] for row in rows}
