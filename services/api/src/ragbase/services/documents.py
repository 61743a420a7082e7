"""Reading and removing documents."""

from __future__ import annotations

from collections.abc import Sequence

from ragbase.models.access import FULL_ACCESS, Access
from ragbase.models.documents import (
    ChunkOut,
    ContextState,
    DocumentDetail,
    DocumentOut,
    GraphState,
    IngestWarning,
    Outcome,
)
from ragbase.models.domain import Document, StoredChunk
from ragbase.services.bound import CollectionBound
from ragbase.services.collections import CollectionService
from ragbase.storage import documents as store
from ragbase.storage.again import again_after_deadlock
from ragbase.storage.contexts import context_state
from ragbase.storage.graph_state import graph_state, graph_states
from ragbase.storage.pool import Database

__all__ = ["DocumentService", "to_out"]


class DocumentService(CollectionBound):
    """Documents as stored, as far as ``access`` sees them."""

    def __init__(
        self, database: Database, collections: CollectionService, access: Access = FULL_ACCESS
    ) -> None:
        self._database = database
        super().__init__(collections, access)

    async def page(
        self, *, offset: int, limit: int, collection: str | None, include_content: bool
    ) -> tuple[list[DocumentOut], int]:
        """Newest first, and how many there are in all that may be seen (of one collection)."""
        within = self._visible
        if collection is not None:
            within = [(await self._collections.get(collection)).name]
        async with self._database.read() as connection:
            rows, total = await store.list_documents(
                connection,
                offset=offset,
                limit=limit,
                collections=within,
                include_content=include_content,
            )
            graphs = await graph_states(connection, [row.id for row in rows])
        return [to_out(row, graph=graphs[row.id]) for row in rows], total

    async def get(self, document_id: int) -> DocumentDetail:
        """One document with its chunks. Raises `NotFoundError`."""
        async with self._database.read() as connection:
            document = await store.get_document(connection, document_id, self._visible)
            if document is None:
                raise store.document_not_found()
            chunks = await store.list_chunks(connection, document_id)
            graph = await graph_state(connection, document_id)
            context = await context_state(connection, document_id)
        return DocumentDetail(
            **to_out(document, graph=graph, context=context).model_dump(),
            chunks=[_chunk_out(chunk) for chunk in chunks],
        )

    async def graph_of(self, document_id: int) -> GraphState:
        """Where the document stands on its way into the graph."""
        async with self._database.read() as connection:
            return await graph_state(connection, document_id)

    @again_after_deadlock
    async def delete(self, document_id: int) -> None:
        """Remove every trace. Raises `NotFoundError`."""
        async with self._database.transaction() as connection:
            if not await store.delete_document(connection, document_id, self._visible):
                raise store.document_not_found()


def to_out(
    document: Document,
    *,
    outcome: Outcome | None = None,
    warnings: Sequence[IngestWarning] = (),
    graph: GraphState | None = None,
    context: ContextState | None = None,
) -> DocumentOut:
    """The answer's form of a stored document."""
    return DocumentOut(
        id=document.id,
        title=document.title,
        content=document.content,
        metadata=document.metadata,
        created_at=document.created_at,
        updated_at=document.updated_at,
        chunk_count=document.chunk_count,
        external_id=document.external_id,
        collection=document.collection,
        outcome=outcome,
        graph=graph or GraphState(),
        context=context,
        warnings=list(warnings),
    )


def _chunk_out(chunk: StoredChunk) -> ChunkOut:
    return ChunkOut(
        id=chunk.id,
        chunk_index=chunk.chunk_index,
        content=chunk.content,
        token_count=chunk.token_count,
        start=chunk.start,
        end=chunk.end,
        context=chunk.context,
    )
