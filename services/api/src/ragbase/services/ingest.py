"""Ingest: one document from request to searchable, in one transaction at the end."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace

from ragbase.clients.permits import Permits
from ragbase.errors import ConflictError
from ragbase.ingest.chunks import make_chunks
from ragbase.limits import LOCALRAG
from ragbase.models.access import FULL_ACCESS, Access
from ragbase.models.documents import DocumentIn, DocumentPatch, IngestWarning
from ragbase.models.domain import ChunkDraft, Collection, Document, DocumentDraft, Vectors
from ragbase.services.bound import CollectionBound
from ragbase.services.collections import CollectionService
from ragbase.services.document_contexts import DocumentContexts
from ragbase.services.embedding import EmbeddingRuntime
from ragbase.services.graph_extraction import GraphExtraction
from ragbase.services.ingest_checks import (
    CleanDocument,
    IngestLimits,
    check_document,
    file_metadata,
    patched_metadata,
)
from ragbase.services.ingest_run import IngestOutcome, counted, end, tell
from ragbase.services.ingest_vectors import PassageVectors
from ragbase.services.jobs_run import JobRun
from ragbase.services.recipe import Recipe, content_hash, same_content
from ragbase.storage import documents as store
from ragbase.storage.again import again_after_deadlock
from ragbase.storage.chunks import list_chunks
from ragbase.storage.pool import Database
from ragbase.telemetry.metrics import count_ingested, observe_ingest_stage
from ragbase.text.analyse import analyser

__all__ = ["IngestLimits", "IngestOutcome", "IngestService"]

_PATCH_ATTEMPTS = 5
_LARGE_CHARS = 100_000


class IngestService(CollectionBound):
    """Creates, replaces and changes documents.

    No connection is held while text is split or embedded; writers of one ``external_id`` are
    put in order by a lock in the database, so the end state is always exactly one version.

    Given a ``run``, what is done is part of that job: it is told of the progress, and ends in the
    transaction that stores the document, so that a worker which dies at any moment has done
    both or neither.
    """

    def __init__(
        self,
        database: Database,
        embedding: EmbeddingRuntime,
        collections: CollectionService,
        *,
        recipe: Recipe,
        limits: IngestLimits,
        extraction: GraphExtraction,
        contexts: DocumentContexts,
        access: Access = FULL_ACCESS,
    ) -> None:
        self._database = database
        self._embedding = embedding
        super().__init__(collections, access)
        self._recipe = recipe
        self._limits = limits
        self._extraction = extraction
        self._contexts = contexts
        self._vectors = PassageVectors(database, embedding)
        self._splitting = asyncio.Semaphore(limits.parallel_splits)
        self._large = Permits(2 * limits.text_chars)

    async def check(self, body: DocumentIn) -> Collection:
        """The collection that would take the document. Raises what `create` would raise at once."""
        with counted(None):
            collection = await self._open_collection(body.collection)
            check_document(body, self._limits)
        return collection

    async def check_patch(self, document_id: int, change: DocumentPatch) -> Collection:
        """The collection of the document. Raises what `patch` would raise at once."""
        old = await self._read(document_id)
        patched_metadata(old.metadata, change, self._limits)
        return await self._collections.get(old.collection)

    async def create(
        self,
        body: DocumentIn,
        run: JobRun | None = None,
        warnings: tuple[IngestWarning, ...] = (),
    ) -> IngestOutcome:
        """Store a document, replacing the one of the same ``external_id``.

        ``warnings`` are what is known already of how the document came to be.
        """
        with counted(run):
            result = await self._create(body, run, warnings)
        count_ingested(result.outcome)
        return result

    async def patch(
        self, document_id: int, change: DocumentPatch, run: JobRun | None = None
    ) -> Document:
        """Change metadata; chunks whose index text changes with it are embedded again."""
        for _ in range(_PATCH_ATTEMPTS):
            patched = await self._try_patch(document_id, change, run)
            if patched is not None:
                return patched
        raise ConflictError("The document kept changing meanwhile; try again.")

    # The two flows

    @again_after_deadlock
    async def _create(
        self, body: DocumentIn, run: JobRun | None, warnings: tuple[IngestWarning, ...]
    ) -> IngestOutcome:
        collection = await self._open_collection(body.collection)
        said = body.wants_context
        contextual = collection.contextual_retrieval if said is None else said
        draft = self._draft(check_document(body, self._limits), collection, contextual=contextual)
        old, kept = await self._look_up(draft, dedupe=body.dedupe)
        if kept is not None:
            kept = await self._extraction.with_missing(kept, collection, wanted=body.graph)
            kept = await self._contexts.with_missing(kept, collection)
            return await self._kept(replace(kept, warnings=(*warnings, *kept.warnings)), run)
        async with self._room(draft):
            split = await self._chunks(draft, collection, run)
            contexted = await self._contexts.of(draft, split, collection, old, run)
            chunks = contexted.chunks
            vectors = await self._embedded(chunks, None if old is None else old.id, run)
            warnings = warnings if chunks else (*warnings, _NO_CHUNKS)
            tell(run, "store")
            with observe_ingest_stage("store"):
                async with self._database.transaction() as connection:
                    result = await self._store(
                        connection, draft, chunks, vectors, run, dedupe=body.dedupe
                    )
                    result = replace(result, warnings=(*warnings, *result.warnings))
                    result = await self._contexts.with_queued(
                        connection, result, contexted, collection
                    )
                    if body.graph:
                        result = await self._extraction.with_queued(connection, result, collection)
                    await end(connection, run, result)
                    return result

    @again_after_deadlock
    async def _try_patch(
        self, document_id: int, change: DocumentPatch, run: JobRun | None
    ) -> Document | None:
        """None when another writer came between reading and writing."""
        old = await self._read(document_id)
        collection = await self._collections.get(old.collection)
        metadata = patched_metadata(old.metadata, change, self._limits)
        clean = CleanDocument(old.title, old.content, metadata, old.external_id)
        if collection.name == LOCALRAG:
            return await self._patch_file(document_id, clean, collection, run)
        draft = self._draft(clean, collection, contextual=old.contextual)
        if draft.content_hash == old.content_hash:
            return (await self._kept(IngestOutcome(old, "unchanged"), run)).document
        in_graph = await self._extraction.concerns(document_id)
        split = await self._chunks(draft, collection, run)
        contexted = await self._contexts.of(draft, split, collection, old, run, ask=False)
        chunks = contexted.chunks
        kept = await self._has_chunks(document_id, chunks)
        vectors = None if kept else await self._embedded(chunks, document_id, run)
        tell(run, "store")
        async with self._database.transaction() as connection:
            current = await store.lock_document(connection, document_id, self._visible)
            if current is None:
                raise store.document_not_found()
            if current.content_hash != old.content_hash:
                return None
            if kept:
                document = await store.update_metadata(connection, document_id, draft)
            else:
                document = await store.replace_document(
                    connection, document_id, draft, chunks, vectors, self._embedding.model.id
                )
                if in_graph:
                    await self._extraction.queue(connection, document_id, collection)
            result = await self._contexts.with_queued(
                connection, IngestOutcome(document, "replaced"), contexted, collection
            )
            await end(connection, run, result)
            return document

    async def _patch_file(
        self, document_id: int, clean: CleanDocument, collection: Collection, run: JobRun | None
    ) -> Document:
        """A file of the second API keeps the chunks and vectors that it has."""
        metadata = file_metadata(clean.metadata)
        draft = DocumentDraft(
            clean.title, clean.content, metadata, collection.id, clean.external_id
        )
        async with self._database.transaction() as connection:
            document = await store.update_metadata(connection, document_id, draft)
            await end(connection, run, IngestOutcome(document, "replaced"))
        return document

    # Steps

    async def _open_collection(self, name: str) -> Collection:
        """One that takes documents: files are chunked and embedded by other rules."""
        collection = await self._collections.get(name)
        if collection.name == LOCALRAG:
            raise ConflictError(
                f"The collection {LOCALRAG!r} holds the files of the second API: store them there "
                "(POST /v1/store), or choose another collection.",
                code="collection_reserved",
            )
        return collection

    def _room(self, draft: DocumentDraft) -> AbstractAsyncContextManager[None]:
        """Large documents wait for one another, and for nothing else.

        Until it is stored a document holds some 90 bytes a character.
        """
        size = len(draft.content)
        return self._large.take(size) if size >= _LARGE_CHARS else nullcontext()

    async def _read(self, document_id: int) -> Document:
        async with self._database.read() as connection:
            document = await store.get_document(connection, document_id, self._visible)
        if document is None:
            raise store.document_not_found()
        return document

    def _draft(
        self, clean: CleanDocument, collection: Collection, *, contextual: bool
    ) -> DocumentDraft:
        digest = self._recipe_of(collection, contextual).digest(self._embedding.info.model)
        return DocumentDraft(
            title=clean.title,
            content=clean.content,
            metadata=clean.metadata,
            collection_id=collection.id,
            external_id=clean.external_id,
            content_hash=content_hash(clean.title, clean.content, clean.metadata, digest),
            contextual=contextual,
        )

    def _recipe_of(self, collection: Collection, contextual: bool) -> Recipe:
        line_tokens = self._contexts.line_tokens if contextual else 0
        return replace(self._recipe.of(collection), line_tokens=line_tokens)

    async def _look_up(
        self, draft: DocumentDraft, *, dedupe: bool
    ) -> tuple[Document | None, IngestOutcome | None]:
        """The document to replace, and what makes all further work needless, if there is such."""
        if draft.external_id is None and not dedupe:
            return None, None
        async with self._database.read() as connection:
            old = await _by_external_id(connection, draft)
            return old, await _equal(connection, draft, old, dedupe=dedupe)

    async def _kept(self, result: IngestOutcome, run: JobRun | None) -> IngestOutcome:
        if run is not None:
            async with self._database.transaction() as connection:
                await store.accept_again(connection, result.document.id, run.job.id)
                await end(connection, run, result)
        elif result.document.external_id is not None:
            # One statement, which needs no transaction around it: three round trips less.
            async with self._database.acquire() as connection:
                await store.accept_again(connection, result.document.id, None)
        return result

    async def _chunks(
        self, draft: DocumentDraft, collection: Collection, run: JobRun | None
    ) -> list[ChunkDraft]:
        tell(run, "split")
        recipe = self._recipe_of(collection, draft.contextual)
        rules = recipe.rules(self._embedding.info.passage_tokens)
        async with self._splitting:
            with observe_ingest_stage("split"):
                return await asyncio.to_thread(
                    make_chunks,
                    draft.title,
                    draft.content,
                    draft.metadata,
                    rules=rules,
                    analyser=analyser(collection.language),
                    tokenizer=self._embedding.embedder.tokenizer,
                )

    async def _has_chunks(self, document_id: int, chunks: list[ChunkDraft]) -> bool:
        """Whether the document's chunks are stored as they would be written again."""
        async with self._database.read() as connection:
            stored = await list_chunks(connection, document_id)
        return [(c.indexed_content, c.start, c.end) for c in stored] == [
            (c.indexed_content, c.start, c.end) for c in chunks
        ]

    async def _embedded(
        self, chunks: list[ChunkDraft], replaces: int | None, run: JobRun | None
    ) -> Vectors:
        return await self._vectors.of(
            chunks,
            replaces=replaces,
            report=lambda done, total: tell(run, "embed", done, total),
        )

    async def _store(
        self,
        connection: store.Connection,
        draft: DocumentDraft,
        chunks: list[ChunkDraft],
        vectors: Vectors,
        run: JobRun | None,
        *,
        dedupe: bool,
    ) -> IngestOutcome:
        model_id = self._embedding.model.id
        if draft.external_id is not None:
            await store.lock_external_id(connection, draft.collection_id, draft.external_id)
        if dedupe:
            await store.lock_content(connection, draft.collection_id, draft.content_hash)
        old = await _by_external_id(connection, draft)
        kept = await _equal(connection, draft, old, dedupe=dedupe)
        if kept is not None:
            return kept
        job_id = _job_id(run)
        if old is None:
            document = await store.insert_document(
                connection, draft, chunks, vectors, model_id, job_id
            )
            return IngestOutcome(document, "created")
        if job_id is not None and await store.is_superseded(connection, old.id, job_id):
            return IngestOutcome(old, "unchanged", (_SUPERSEDED,))
        document = await store.replace_document(
            connection, old.id, draft, chunks, vectors, model_id, job_id
        )
        return IngestOutcome(document, "replaced")


_NO_CHUNKS = IngestWarning(
    code="no_chunks",
    message="The document holds nothing to search (only markup, comments or front matter).",
)


_SUPERSEDED = IngestWarning(
    code="superseded",
    message="A version that was posted later is stored already, and stays.",
)


def _job_id(run: JobRun | None) -> int | None:
    return None if run is None else run.job.id


async def _by_external_id(connection: store.Connection, draft: DocumentDraft) -> Document | None:
    if draft.external_id is None:
        return None
    return await store.find_by_external_id(connection, draft.collection_id, draft.external_id)


async def _equal(
    connection: store.Connection, draft: DocumentDraft, old: Document | None, *, dedupe: bool
) -> IngestOutcome | None:
    if old is not None and old.content_hash == draft.content_hash:
        return IngestOutcome(old, "unchanged")
    if dedupe and draft.external_id is None:
        twin = await store.find_by_content(
            connection, draft.collection_id, same_content(draft.content_hash)
        )
        if twin is not None:
            return IngestOutcome(twin, "unchanged")
    return None
