"""Takes over the rows of an original database: vectors, analysed terms, copies of metadata.

Runs after the revisions, in batches, each in its own transaction, with the position kept in
table ``adoption``: an interrupted run goes on where it stopped. Rows and ids stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import asyncpg

from ragbase.errors import ConfigurationError
from ragbase.storage.embedding_models import EmbeddingModel, ensure_index, ensure_row

__all__ = ["Adopted", "adopt"]

_BATCH = 500


@dataclass(frozen=True, slots=True)
class Adopted:
    """What was taken over by this run; ``model`` is None where no chunk had a vector."""

    chunks: int
    vectors: int
    model: str | None


async def adopt(
    connection: asyncpg.Connection,
    *,
    analyse: Callable[[str], str] | None,
    model: str,
    hnsw_m: int,
    hnsw_ef_construction: int,
) -> Adopted | None:
    """Finish the adoption that the first revision noted; None when there is nothing to do."""
    position: int | None = await connection.fetchval("SELECT position FROM adoption")
    if position is None:
        return None
    if analyse is None:
        raise ConfigurationError(
            "This is a database of the original rag-base: run `ragbase migrate` to adopt it."
        )
    row = await _model_row(connection, model)
    chunks = vectors = 0
    while batch := await _adopt_batch(connection, position, row, analyse):
        position = batch.position
        chunks += batch.chunks
        vectors += batch.vectors
    if row is not None:
        await ensure_index(
            connection, row, hnsw_m=hnsw_m, hnsw_ef_construction=hnsw_ef_construction
        )
    await _finish(connection, row)
    return Adopted(chunks, vectors, None if row is None else row.name)


@dataclass(frozen=True, slots=True)
class _Batch:
    position: int
    chunks: int
    vectors: int


async def _model_row(connection: asyncpg.Connection, name: str) -> EmbeddingModel | None:
    dimension: int | None = await connection.fetchval(
        "SELECT vector_dims(embedding) FROM chunks WHERE embedding IS NOT NULL LIMIT 1"
    )
    return None if dimension is None else await ensure_row(connection, name, dimension)


async def _adopt_batch(
    connection: asyncpg.Connection,
    after: int,
    model: EmbeddingModel | None,
    analyse: Callable[[str], str],
) -> _Batch | None:
    rows = await connection.fetch(
        "SELECT id, indexed_content FROM chunks WHERE id > $1 ORDER BY id LIMIT $2", after, _BATCH
    )
    if not rows:
        return None
    ids = [row["id"] for row in rows]
    terms = [analyse(row["indexed_content"]) for row in rows]
    async with connection.transaction():
        vectors = 0 if model is None else await _move_vectors(connection, ids, model.id)
        await connection.execute(
            """
            UPDATE chunks c
            SET lexical_text = t.terms, metadata = d.metadata, collection_id = d.collection_id
            FROM unnest($1::bigint[], $2::text[]) AS t(id, terms), documents d
            WHERE c.id = t.id AND d.id = c.document_id
            """,
            ids,
            terms,
        )
        await connection.execute("UPDATE adoption SET position = $1", ids[-1])
    return _Batch(ids[-1], len(ids), vectors)


async def _move_vectors(connection: asyncpg.Connection, ids: list[int], model_id: int) -> int:
    moved: int = await connection.fetchval(
        """
        WITH moved AS (
            INSERT INTO embeddings (chunk_id, document_id, collection_id, model_id, embedding)
            SELECT c.id, c.document_id, d.collection_id, $2, c.embedding
            FROM chunks c JOIN documents d ON d.id = c.document_id
            WHERE c.id = ANY($1::bigint[]) AND c.embedding IS NOT NULL
            ORDER BY c.id
            ON CONFLICT DO NOTHING
            RETURNING 1
        )
        SELECT count(*) FROM moved
        """,
        ids,
        model_id,
    )
    return moved


async def _finish(connection: asyncpg.Connection, model: EmbeddingModel | None) -> None:
    async with connection.transaction():
        await connection.execute("ALTER TABLE chunks DROP COLUMN IF EXISTS embedding")
        if model is not None:
            await connection.execute(
                "UPDATE collections SET embedding_model_id = $1 WHERE name = 'default'", model.id
            )
        await connection.execute("DELETE FROM adoption")
