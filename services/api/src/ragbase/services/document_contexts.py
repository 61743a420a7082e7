"""Context lines in the course of an ingest: wanted or not, made or kept, and what is still missing."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from ragbase.errors import RagBaseError
from ragbase.ingest.contextual import Span, in_context
from ragbase.models.documents import ContextState, IngestWarning
from ragbase.models.domain import ChunkDraft, Collection, Document, DocumentDraft
from ragbase.services.contextual import ContextWriter, Lines
from ragbase.services.embedding import EmbeddingRuntime
from ragbase.services.ingest_run import IngestOutcome, tell
from ragbase.services.jobs_run import JobRun
from ragbase.storage import contexts as store
from ragbase.storage import documents
from ragbase.storage.chunks import list_chunks
from ragbase.storage.extractions import bind_answers
from ragbase.storage.pool import Connection, Database
from ragbase.telemetry.metrics import observe_ingest_stage
from ragbase.text.analyse import analyser

__all__ = ["Contexted", "DocumentContexts"]

_Known: TypeAlias = Mapping[Span, str]
"""Lines by the stretch of the document that they stand before."""


@dataclass(frozen=True, slots=True)
class Contexted:
    """A document's chunks with the lines that could be had; ``error``: why not all could."""

    chunks: list[ChunkDraft]
    wanted: bool = False
    error: RagBaseError | None = None
    keys: Sequence[bytes] = field(default=())

    @property
    def missing(self) -> int:
        """Chunks that lack their line."""
        return sum(chunk.context is None for chunk in self.chunks) if self.wanted else 0

    @property
    def state(self) -> ContextState:
        """As it is told, before a job is queued."""
        if not self.wanted:
            return ContextState()
        total = len(self.chunks)
        done = total - self.missing
        return ContextState(status="missing" if self.missing else "done", done=done, total=total)


class DocumentContexts:
    """What `IngestService` asks about context lines. Nothing here fails a document."""

    def __init__(
        self,
        database: Database,
        embedding: EmbeddingRuntime,
        writer: ContextWriter,
        *,
        attempts: int = 10,
    ) -> None:
        self._database = database
        self._embedding = embedding
        self._writer = writer
        self._attempts = attempts

    @property
    def line_tokens(self) -> int:
        """Longest line."""
        return self._writer.rules.line_tokens

    async def of(
        self,
        draft: DocumentDraft,
        chunks: list[ChunkDraft],
        collection: Collection,
        old: Document | None,
        run: JobRun | None,
        *,
        ask: bool = True,
    ) -> Contexted:
        """The chunks with lines: those that version ``old`` has of the same text, and new ones.

        New ones only with ``ask``. A request waits for them as long as its budget allows, a job as
        long as it takes.
        """
        if not draft.contextual or not chunks:
            return Contexted(chunks, draft.contextual)
        known = await self._known(draft, old)
        lines: list[str | None] = [known.get(_span(chunk)) for chunk in chunks]
        missing = [place for place, line in enumerate(lines) if line is None]
        made = Lines([])
        if missing and ask and self._writer.offered:
            made = await self._made(draft, [_span(chunks[place]) for place in missing], run)
            for place, line in zip(missing, made.lines, strict=True):
                lines[place] = line
        done = await asyncio.to_thread(
            in_context,
            chunks,
            lines,
            line_tokens=self.line_tokens,
            passage_tokens=self._embedding.info.passage_tokens,
            tokenizer=self._embedding.embedder.tokenizer,
            analyser=analyser(collection.language),
        )
        return Contexted(done, True, made.error, made.keys)

    async def _made(self, draft: DocumentDraft, spans: Sequence[Span], run: JobRun | None) -> Lines:
        tell(run, "context", 0, len(spans))
        with observe_ingest_stage("context"):
            return await self._writer.write(
                draft.content,
                spans,
                within_s=self._writer.rules.budget_s if run is None else None,
                report=lambda done, total: tell(run, "context", done, total),
            )

    async def _known(self, draft: DocumentDraft, old: Document | None) -> _Known:
        if old is None or not old.contextual or old.content != draft.content:
            return {}
        async with self._database.read() as connection:
            stored = await list_chunks(connection, old.id)
        return {
            Span(chunk.start, chunk.end): chunk.context
            for chunk in stored
            if chunk.context is not None and chunk.start is not None and chunk.end is not None
        }

    async def with_queued(
        self,
        connection: Connection,
        result: IngestOutcome,
        contexted: Contexted,
        collection: Collection,
    ) -> IngestOutcome:
        """``result`` with the state of its lines, and a job for those that are missing, in the
        transaction that stores the document.
        """
        if not contexted.wanted:
            return result
        if result.outcome == "unchanged":  # another writer stored the same meanwhile
            state = await store.context_state(connection, result.document.id)
            return replace(result, context=state)
        if contexted.keys:
            await bind_answers(connection, contexted.keys, result.document.id)
        state = contexted.state
        if contexted.missing and self._writer.offered:
            state = await self._queue(connection, result.document, collection, state)
        warnings = (*result.warnings, *self._warnings(state, contexted.error))
        return replace(result, context=state, warnings=warnings)

    async def with_missing(self, kept: IngestOutcome, collection: Collection) -> IngestOutcome:
        """Where an ingest stores nothing: a new job for lines that no job is about to make."""
        if not kept.document.contextual:
            return kept
        async with self._database.transaction() as connection:
            await documents.lock_document(connection, kept.document.id)
            state = await store.context_state(connection, kept.document.id)
            if state.status in ("missing", "failed") and self._writer.offered:
                state = await self._queue(connection, kept.document, collection, state)
        return replace(kept, context=state, warnings=(*kept.warnings, *self._warnings(state)))

    async def _queue(
        self,
        connection: Connection,
        document: Document,
        collection: Collection,
        state: ContextState,
    ) -> ContextState:
        job = await store.queue_contexts(
            connection, document.id, collection.id, max_attempts=self._attempts
        )
        return state.model_copy(update={"status": "queued", "job_id": job.id})

    def _warnings(
        self, state: ContextState, error: RagBaseError | None = None
    ) -> tuple[IngestWarning, ...]:
        if state.done == state.total:
            return ()
        if not self._writer.offered:
            message = "No LLM is configured, so the chunks have no context lines."
            return (IngestWarning(code="context_unavailable", message=message),)
        why = "" if error is None else f" {error.message}"
        message = (
            f"{state.total - state.done} of {state.total} chunks have no context line yet; "
            f"job {state.job_id} makes them.{why}"
        )
        return (IngestWarning(code="context_incomplete", message=message),)


def _span(chunk: ChunkDraft) -> Span:
    return Span(chunk.start, chunk.end)
