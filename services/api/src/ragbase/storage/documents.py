"""Rows of ``documents`` with all that hangs on them.

Functions that write several tables run in the transaction of their caller, who therefore gets
all of a change or nothing. Two writers of one ``external_id`` are put in order by
`lock_external_id`, of one content by `lock_content`, of one document by `lock_document`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import asyncpg

from ragbase.errors import NotFoundError
from ragbase.models.domain import ChunkDraft, Document, DocumentDraft, Vectors
from ragbase.storage.chunks import insert_chunks, list_chunks
from ragbase.storage.embeddings import insert_vectors, vectors_by_indexed_content
from ragbase.storage.pool import Connection

__all__ = [
    "MAX_ID",
    "Connection",
    "accept_again",
    "delete_document",
    "delete_documents",
    "document_not_found",
    "find_by_content",
    "find_by_external_id",
    "get_document",
    "insert_document",
    "is_superseded",
    "list_chunks",
    "list_documents",
    "lock_content",
    "lock_document",
    "lock_external_id",
    "replace_document",
    "update_metadata",
    "vectors_by_indexed_content",
]

MAX_ID = 2**63 - 1
"""Largest id a bigint holds; beyond it nothing can exist, and the driver would refuse it."""

_SELECT = """
    SELECT d.id, d.title, {content}, d.metadata, d.created_at, d.updated_at,
        (SELECT count(*) FROM chunks c WHERE c.document_id = d.id),
        k.name, d.external_id, coalesce(d.content_hash, ''), d.contextual
    FROM documents d JOIN collections k ON k.id = d.collection_id
"""
"""Columns in the order of `Document`'s fields."""
_WITH_TEXT = _SELECT.format(content="d.content")
_WITHOUT_TEXT = _SELECT.format(content="''")
_VISIBLE = (
    "({0}::text[] IS NULL OR d.collection_id = "
    "ANY(ARRAY(SELECT id FROM collections WHERE name = ANY({0}))))"
)
"""Only within collections of these names, as `Access.visible` gives them; null: no condition.

The array is worked out once, before the rows are read, and plans as a list of ids does.
"""
_WITHIN = _VISIBLE.format("$1")


def document_not_found() -> NotFoundError:
    """The one answer for a document that is not there (or may not be read)."""
    return NotFoundError("Document not found", code="document_not_found")


async def insert_document(
    connection: Connection,
    draft: DocumentDraft,
    chunks: Sequence[ChunkDraft],
    vectors: Vectors | None,
    model_id: int | None,
    job_id: int | None = None,
) -> Document:
    """Store a new document with its chunks and their vectors (row i for chunk i).

    It was accepted when the job ``job_id`` was, else now.

    Raises `NotFoundError` when the collection is gone, `asyncpg.UniqueViolationError` when the
    external id is taken (hold `lock_external_id` and look first).
    """
    try:
        row = await connection.fetchrow(
            """
            INSERT INTO documents (
                collection_id, external_id, title, content, metadata, content_hash, accepted_at,
                contextual
            )
            VALUES (
                $1, $2, $3, $4, $5, $6,
                coalesce((SELECT created_at FROM jobs WHERE id = $7::bigint), now()), $8
            )
            RETURNING id, created_at, updated_at, (SELECT name FROM collections WHERE id = $1)
            """,
            draft.collection_id,
            draft.external_id,
            draft.title,
            draft.content,
            dict(draft.metadata),
            draft.content_hash or None,
            job_id,
            draft.contextual,
        )
    except asyncpg.ForeignKeyViolationError as error:
        raise NotFoundError("The collection is gone.", code="collection_not_found") from error
    assert row is not None
    await _insert_parts(connection, row["id"], draft, chunks, vectors, model_id)
    return _stored(draft, row, len(chunks))


async def replace_document(
    connection: Connection,
    document_id: int,
    draft: DocumentDraft,
    chunks: Sequence[ChunkDraft],
    vectors: Vectors | None,
    model_id: int | None,
    job_id: int | None = None,
) -> Document:
    """Put another version in a document's place; id and ``created_at`` stay, chunks are new.

    It was accepted when the job ``job_id`` was, else now.

    Raises `NotFoundError` when the document is gone.
    """
    row = await connection.fetchrow(
        """
        UPDATE documents
        SET external_id = $2, title = $3, content = $4, metadata = $5, content_hash = $6,
            accepted_at = coalesce((SELECT created_at FROM jobs WHERE id = $8::bigint), now()),
            contextual = $9, updated_at = now()
        WHERE id = $1 AND collection_id = $7
        RETURNING id, created_at, updated_at, (SELECT name FROM collections WHERE id = $7)
        """,
        document_id,
        draft.external_id,
        draft.title,
        draft.content,
        dict(draft.metadata),
        draft.content_hash or None,
        draft.collection_id,
        job_id,
        draft.contextual,
    )
    if row is None:
        raise document_not_found()
    await connection.execute("SELECT graph_release(ARRAY[$1::bigint])", document_id)
    await connection.execute("DELETE FROM chunks WHERE document_id = $1", document_id)
    await _insert_parts(connection, document_id, draft, chunks, vectors, model_id)
    return _stored(draft, row, len(chunks))


async def is_superseded(connection: Connection, document_id: int, job_id: int) -> bool:
    """Whether the stored version was accepted after the job that is to replace it."""
    return bool(
        await connection.fetchval(
            "SELECT d.accepted_at > j.created_at FROM documents d, jobs j "
            "WHERE d.id = $1 AND j.id = $2",
            document_id,
            job_id,
        )
    )


async def accept_again(connection: Connection, document_id: int, job_id: int | None) -> None:
    """Note that the stored version was asked for again, where older versions may be queued."""
    await connection.execute(
        """
        UPDATE documents d
        SET accepted_at = greatest(
            accepted_at, coalesce((SELECT created_at FROM jobs WHERE id = $2::bigint), now())
        )
        WHERE d.id = $1 AND EXISTS (
            SELECT FROM jobs q
            WHERE q.collection_id = d.collection_id AND q.state IN ('queued', 'running')
                AND q.id IS DISTINCT FROM $2
        )
        """,
        document_id,
        job_id,
    )


async def update_metadata(
    connection: Connection, document_id: int, draft: DocumentDraft
) -> Document:
    """Set a document's metadata and the copies beside its chunks, which are kept as they are.

    Raises `NotFoundError` when the document is gone.
    """
    row = await connection.fetchrow(
        """
        UPDATE documents d
        SET metadata = $2, content_hash = $3, accepted_at = now(), updated_at = now()
        WHERE d.id = $1
        RETURNING d.id, d.created_at, d.updated_at,
            (SELECT name FROM collections WHERE id = d.collection_id),
            (SELECT count(*) FROM chunks WHERE document_id = d.id)
        """,
        document_id,
        dict(draft.metadata),
        draft.content_hash or None,
    )
    if row is None:
        raise document_not_found()
    await connection.execute(
        "UPDATE chunks SET metadata = $2 WHERE document_id = $1", document_id, dict(draft.metadata)
    )
    return _stored(draft, row, row[4])


async def get_document(
    connection: Connection,
    document_id: int,
    collections: Sequence[str] | None = None,
    *,
    include_content: bool = True,
) -> Document | None:
    """One document; None also when it lies outside ``collections`` (names; None: no limit)."""
    if not 0 < document_id <= MAX_ID:
        return None
    row = await connection.fetchrow(
        f"{_select(include_content)} WHERE d.id = $1 AND {_VISIBLE.format('$2')}",
        document_id,
        collections,
    )
    return None if row is None else Document(*row)


async def list_documents(
    connection: Connection,
    *,
    offset: int,
    limit: int,
    collections: Sequence[str] | None = None,
    include_content: bool = True,
) -> tuple[list[Document], int]:
    """A page of documents, newest ``created_at`` first, then highest id; and how many there are."""
    total: int = await connection.fetchval(
        f"SELECT count(*) FROM documents d WHERE {_WITHIN}",  # noqa: S608 - no value in it
        collections,
    )
    rows = await connection.fetch(
        f"{_select(include_content)} WHERE {_WITHIN} "
        "ORDER BY d.created_at DESC, d.id DESC OFFSET $2 LIMIT $3",
        collections,
        min(offset, MAX_ID),
        limit,
    )
    return [Document(*row) for row in rows], total


async def find_by_external_id(
    connection: Connection, collection_id: int, external_id: str
) -> Document | None:
    """The document that bears this external id in the collection."""
    row = await connection.fetchrow(
        f"{_WITH_TEXT} WHERE d.collection_id = $1 AND d.external_id = $2",
        collection_id,
        external_id,
    )
    return None if row is None else Document(*row)


async def find_by_content(
    connection: Connection, collection_id: int, same_content: bytes
) -> Document | None:
    """The oldest document whose content hash begins with these 16 bytes."""
    row = await connection.fetchrow(
        f"{_WITH_TEXT} WHERE d.collection_id = $1 AND d.content_hash IS NOT NULL "
        "AND substring(d.content_hash FROM 1 FOR 16) = $2 ORDER BY d.id LIMIT 1",
        collection_id,
        same_content,
    )
    return None if row is None else Document(*row)


async def lock_external_id(connection: Connection, collection_id: int, external_id: str) -> None:
    """Wait until no other transaction writes this external id; held to the transaction's end."""
    await _lock(connection, "external_id", collection_id, external_id)


async def lock_content(connection: Connection, collection_id: int, content_hash: bytes) -> None:
    """Wait until no other transaction writes this content; held to the transaction's end."""
    await _lock(connection, "content", collection_id, content_hash[:16].hex())


async def lock_document(
    connection: Connection, document_id: int, collections: Sequence[str] | None = None
) -> Document | None:
    """The document without its text, its row locked to the transaction's end.

    None also when it lies outside ``collections`` (names).
    """
    if not 0 < document_id <= MAX_ID:
        return None
    row = await connection.fetchrow(
        f"{_WITHOUT_TEXT} WHERE d.id = $1 AND {_VISIBLE.format('$2')} FOR UPDATE OF d",
        document_id,
        collections,
    )
    return None if row is None else Document(*row)


async def delete_document(
    connection: Connection, document_id: int, collections: Sequence[str] | None = None
) -> bool:
    """Remove a document and every trace of it; whether there was one (within ``collections``)."""
    return bool(await delete_documents(connection, [document_id], collections))


async def delete_documents(
    connection: Connection, document_ids: Sequence[int], collections: Sequence[str] | None = None
) -> list[int]:
    """Remove documents with chunks, vectors and postings; returns the ids that existed.

    Those outside ``collections`` (names; None: no limit) stay and are not among them.
    """
    await connection.execute(
        "SELECT graph_release(ARRAY(SELECT d.id FROM documents d "  # noqa: S608 - constants
        f"WHERE d.id = ANY($1::bigint[]) AND {_VISIBLE.format('$2')} ORDER BY d.id FOR UPDATE))",
        [number for number in document_ids if 0 < number <= MAX_ID],
        collections,
    )
    rows = await connection.fetch(
        f"DELETE FROM documents d WHERE d.id = ANY($1::bigint[]) AND {_VISIBLE.format('$2')} "  # noqa: S608 - constants
        "RETURNING d.id",
        [number for number in document_ids if 0 < number <= MAX_ID],
        collections,
    )
    return sorted(row[0] for row in rows)


def _select(include_content: bool) -> str:
    return _WITH_TEXT if include_content else _WITHOUT_TEXT


async def _lock(connection: Connection, what: str, collection_id: int, key: str) -> None:
    await connection.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended($1, $2))", f"{what}:{key}", collection_id
    )


async def _insert_parts(
    connection: Connection,
    document_id: int,
    draft: DocumentDraft,
    chunks: Sequence[ChunkDraft],
    vectors: Vectors | None,
    model_id: int | None,
) -> None:
    ids = await insert_chunks(connection, document_id, draft.collection_id, draft.metadata, chunks)
    if vectors is None or model_id is None:
        return
    await insert_vectors(connection, document_id, draft.collection_id, model_id, ids, vectors)
    await connection.execute(
        "UPDATE collections SET embedding_model_id = $2 "
        "WHERE id = $1 AND embedding_model_id IS NULL",
        draft.collection_id,
        model_id,
    )


def _stored(draft: DocumentDraft, row: asyncpg.Record, chunk_count: int) -> Document:
    metadata: dict[str, Any] = dict(draft.metadata)
    return Document(
        id=row[0],
        title=draft.title,
        content=draft.content,
        metadata=metadata,
        created_at=row[1],
        updated_at=row[2],
        chunk_count=chunk_count,
        collection=row[3],
        external_id=draft.external_id,
        content_hash=draft.content_hash,
        contextual=draft.contextual,
    )
