"""Context lines for a document that is stored already: what an ingest could not get in time."""

from __future__ import annotations

import asyncio

from ragbase.ingest.contextual import Span, in_context
from ragbase.models.domain import ChunkDraft, Collection, Document, StoredChunk
from ragbase.services.contextual import ContextWriter, Lines
from ragbase.services.embedding import EmbeddingRuntime
from ragbase.services.ingest_vectors import PassageVectors
from ragbase.services.jobs_run import JobResult, JobRun
from ragbase.storage import contexts as store
from ragbase.storage import documents
from ragbase.storage.chunks import list_chunks
from ragbase.storage.collections import get_collection
from ragbase.storage.pool import Database
from ragbase.telemetry.metrics import observe_ingest_stage
from ragbase.text.analyse import analyser

__all__ = ["ContextFill"]


class ContextFill:
    """Does jobs of kind ``context``."""

    def __init__(
        self, database: Database, embedding: EmbeddingRuntime, writer: ContextWriter
    ) -> None:
        self._database = database
        self._embedding = embedding
        self._writer = writer
        self._vectors = PassageVectors(database, embedding)

    async def fill(self, run: JobRun) -> JobResult:
        """Make the lines that the document lacks now, whichever version it is.

        Those that can be had are stored in one transaction, with new vectors and terms; then what
        kept the others from being made is raised, so that the job is tried again.
        """
        async with self._database.read() as connection:
            document = await documents.get_document(connection, run.job.document_id or 0)
            if document is None:
                return {"outcome": "gone"}
            chunks = [
                chunk
                for chunk in await list_chunks(connection, document.id)
                if chunk.context is None and chunk.start is not None and chunk.end is not None
            ]
            collection = await get_collection(connection, document.collection)
        if not document.contextual or not chunks or collection is None:
            return {"outcome": "unchanged"}
        run.progress("context", 0, len(chunks))
        with observe_ingest_stage("context"):
            lines = await self._writer.write(
                document.content,
                [Span(chunk.start or 0, chunk.end or 0) for chunk in chunks],
                document_id=document.id,
                report=lambda done, total: run.progress("context", done, total),
            )
        return await self._store(run, document, collection, chunks, lines)

    async def _store(
        self,
        run: JobRun,
        document: Document,
        collection: Collection,
        chunks: list[StoredChunk],
        lines: Lines,
    ) -> JobResult:
        made = [(chunk.id, line) for chunk, line in zip(chunks, lines.lines, strict=True) if line]
        by_id = {chunk.id: chunk for chunk in chunks}
        drafts = await asyncio.to_thread(
            in_context,
            [_draft(by_id[chunk_id]) for chunk_id, _ in made],
            [line for _, line in made],
            line_tokens=self._writer.rules.line_tokens,
            passage_tokens=self._embedding.info.passage_tokens,
            tokenizer=self._embedding.embedder.tokenizer,
            analyser=analyser(collection.language),
        )
        vectors = await self._vectors.of(
            drafts, replaces=None, report=lambda done, total: run.progress("embed", done, total)
        )
        run.progress("store")
        async with self._database.transaction() as connection:
            changed = 0
            if await documents.lock_document(connection, document.id) is not None:
                changed = await store.write_contexts(
                    connection,
                    document.id,
                    [chunk_id for chunk_id, _ in made],
                    drafts,
                    vectors,
                    self._embedding.model.id,
                )
            if lines.error is None:
                result = {"outcome": "done" if changed else "superseded", "lines": changed}
                await run.commit(connection, document_id=document.id, result=result)
                return result
        raise lines.error


def _draft(chunk: StoredChunk) -> ChunkDraft:
    return ChunkDraft(
        index=chunk.chunk_index,
        content=chunk.content,
        indexed_content=chunk.indexed_content,
        start=chunk.start or 0,
        end=chunk.end or 0,
        token_count=chunk.token_count,
        terms=(),
    )
