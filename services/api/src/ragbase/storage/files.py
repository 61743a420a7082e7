"""Files of the second API: documents of the collection ``localrag``, each with its chunks.

A file's ``external_id`` is its ``file_id``, its metadata hold ``folder_id``. A chunk without a
context has no vector of kind ``context``: its content's vector counts for both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from ragbase.errors import ConfigurationError, ConflictError, NotFoundError
from ragbase.limits import LOCALRAG, NEW_COLLECTION_FUSION
from ragbase.models.domain import ChunkDraft, Collection, DocumentDraft, Vector, Vectors
from ragbase.storage import documents
from ragbase.storage.chunks import insert_chunks
from ragbase.storage.collections import create_collection, get_collection
from ragbase.storage.embeddings import insert_vectors
from ragbase.storage.pool import Connection

__all__ = [
    "FileRow",
    "delete_file",
    "file_collection",
    "first_vectors",
    "insert_file",
    "list_files",
    "made_collection",
    "stored_model",
]

_MATCHING = """
    FROM documents d JOIN collections k ON k.id = d.collection_id
    WHERE k.name = $1 AND d.external_id IS NOT NULL
        AND ($2::text IS NULL OR d.metadata @> jsonb_build_object('folder_id', $2::text))
        AND ($3::text IS NULL OR d.external_id = $3)
"""
_PAGE = f"""
    SELECT f.file_id, f.folder_id, c.content, coalesce(nullif(c.context, ''), c.content)
    FROM (
        SELECT d.id, d.external_id AS file_id, d.metadata ->> 'folder_id' AS folder_id
        {_MATCHING}
        ORDER BY d.id OFFSET $4 LIMIT $5
    ) f
    JOIN chunks c ON c.document_id = f.id AND c.chunk_index = 0
    ORDER BY f.id
"""  # noqa: S608 - constants


_MODEL_OF = "SELECT embedding_model_id FROM collections WHERE id = $1"


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file with its first chunk."""

    file_id: str
    folder_id: str | None
    content: str
    context: str


async def file_collection(connection: Connection) -> Collection | None:
    """The collection of files; None before the first one is stored."""
    return await get_collection(connection, LOCALRAG)


async def made_collection(connection: Connection) -> Collection:
    """The same, made where it is missing."""
    found = await file_collection(connection)
    if found is not None:
        return found
    try:
        return await create_collection(connection, LOCALRAG, fusion=NEW_COLLECTION_FUSION)
    except ConflictError:  # another call made it meanwhile
        made = await file_collection(connection)
        if made is None:  # and a third deleted it
            raise NotFoundError("The collection is gone.", code="collection_not_found") from None
        return made


async def stored_model(connection: Connection) -> str | None:
    """Name of the model that made the stored files' vectors; None where no file is stored."""
    name: str | None = await connection.fetchval(
        "SELECT m.name FROM collections k JOIN embedding_models m ON m.id = k.embedding_model_id "
        "WHERE k.name = $1 AND EXISTS (SELECT FROM documents d WHERE d.collection_id = k.id)",
        LOCALRAG,
    )
    return name


async def first_vectors(connection: Connection, model_id: int) -> list[tuple[str, Vector]]:
    """Content and vector of a chunk of each of the first files, three at most."""
    rows = await connection.fetch(
        """
        SELECT c.content, e.embedding
        FROM (
            SELECT d.id FROM documents d JOIN collections k ON k.id = d.collection_id
            WHERE k.name = $1 ORDER BY d.id LIMIT 3
        ) f
        JOIN chunks c ON c.document_id = f.id AND c.chunk_index = 0
        JOIN embeddings e ON e.chunk_id = c.id AND e.model_id = $2 AND e.kind = 'content'
        """,
        LOCALRAG,
        model_id,
    )
    return [(content, vector) for content, vector in rows]


async def insert_file(
    connection: Connection,
    draft: DocumentDraft,
    chunks: Sequence[ChunkDraft],
    vectors: Vectors,
    context_vectors: Vectors,
    model_id: int,
) -> datetime:
    """Store a file: row i of ``vectors`` for chunk i, rows of ``context_vectors`` in order for
    the chunks that have a context. Returns when.

    Raises `ConfigurationError` where files are stored by another model: its process may have made
    sure of its own before the first file came.
    """
    await _claim(connection, draft.collection_id, model_id)
    stored = await documents.insert_document(connection, draft, [], None, None)
    ids = await insert_chunks(connection, stored.id, draft.collection_id, draft.metadata, chunks)
    place = (connection, stored.id, draft.collection_id, model_id)
    await insert_vectors(*place, ids, vectors)
    placed = [number for number, chunk in zip(ids, chunks, strict=True) if chunk.context]
    await insert_vectors(*place, placed, context_vectors, kind="context")
    return stored.created_at


async def _claim(connection: Connection, collection_id: int, model_id: int) -> None:
    """Make the files' vectors those of this model, if there are no others."""
    if await connection.fetchval(_MODEL_OF, collection_id) == model_id:
        return
    other: int | None = await connection.fetchval(f"{_MODEL_OF} FOR NO KEY UPDATE", collection_id)
    if other is not None and other != model_id:
        stored = await stored_model(connection)
        if stored is not None:
            raise ConfigurationError(
                f"The stored files' vectors were made by {stored}. Set LOCALRAG_EMBEDDING_MODEL to "
                f"it, or delete the collection {LOCALRAG} and store the files again."
            )
    await connection.execute(
        "UPDATE collections SET embedding_model_id = $2 WHERE id = $1", collection_id, model_id
    )


async def list_files(
    connection: Connection, *, folder_id: str | None, file_id: str | None, offset: int, limit: int
) -> tuple[list[FileRow], int]:
    """A page of files in the order in which they were stored, and how many there are."""
    total: int = await connection.fetchval(
        f"SELECT count(*) {_MATCHING}",
        LOCALRAG,
        folder_id,
        file_id,
    )
    rows = await connection.fetch(
        _PAGE, LOCALRAG, folder_id, file_id, min(offset, documents.MAX_ID), limit
    )
    return [FileRow(*row) for row in rows], total


async def delete_file(connection: Connection, file_id: str) -> bool:
    """Remove a file and every trace of it; whether there was one."""
    collection = await file_collection(connection)
    if collection is None:
        return False
    found = await connection.fetchval(
        "SELECT id FROM documents WHERE collection_id = $1 AND external_id = $2",
        collection.id,
        file_id,
    )
    return found is not None and await documents.delete_document(connection, found)
