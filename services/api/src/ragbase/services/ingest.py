"""Ingest: one document from request to searchable, in one transaction at the end."""

from __future__ import annotations

import asyncio
import copy
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import orjson

from ragbase.errors import ConflictError, InvalidInputError, TooLargeError
from ragbase.ingest.chunks import make_chunks
from ragbase.models.access import FULL_ACCESS, Access
from ragbase.models.documents import DocumentIn, DocumentPatch, IngestWarning, Outcome
from ragbase.models.domain import ChunkDraft, Collection, Document, DocumentDraft, Vectors
from ragbase.services.collections import CollectionService
from ragbase.services.embedding import EmbeddingRuntime
from ragbase.services.recipe import Recipe, content_hash, same_content
from ragbase.storage import documents as store
from ragbase.storage.pool import Database
from ragbase.telemetry.metrics import count_ingested, observe_ingest_stage
from ragbase.text.analyse import analyser
from ragbase.text.clean import clean_metadata, clean_text

__all__ = ["IngestLimits", "IngestOutcome", "IngestService"]

_PATCH_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class IngestLimits:
    """Bounds of one document."""

    text_chars: int
    metadata_bytes: int
    title_chars: int = 10_000
    parallel_splits: int = 2
    """Documents split at once: splitting is CPU-bound and holds a document's chunks."""


@dataclass(frozen=True, slots=True)
class IngestOutcome:
    """What became of a posted document."""

    document: Document
    outcome: Outcome
    warnings: tuple[IngestWarning, ...] = ()


class IngestService:
    """Creates, replaces and changes documents.

    No connection is held while text is split or embedded; writers of one ``external_id`` are
    put in order by a lock in the database, so the end state is always exactly one version.
    """

    def __init__(
        self,
        database: Database,
        embedding: EmbeddingRuntime,
        collections: CollectionService,
        *,
        recipe: Recipe,
        limits: IngestLimits,
        access: Access = FULL_ACCESS,
    ) -> None:
        self._database = database
        self._embedding = embedding
        self._collections = collections
        self._recipe = recipe
        self._limits = limits
        self._splitting = asyncio.Semaphore(limits.parallel_splits)
        self._visible = access.visible()

    def seen_by(self, access: Access) -> Self:
        """The same, for another caller."""
        bound = copy.copy(self)
        bound._collections = self._collections.seen_by(access)
        bound._visible = access.visible()
        return bound

    async def create(self, body: DocumentIn) -> IngestOutcome:
        """Store a document, replacing the one of the same ``external_id``."""
        collection = await self._collections.get(body.collection)
        draft = self._clean(body, collection)
        warnings = _unserved(body)
        old, kept = await self._look_up(draft, dedupe=body.dedupe)
        if kept is not None:
            count_ingested(kept.outcome)
            return replace(kept, warnings=warnings)
        chunks = await self._chunks(draft, collection)
        vectors = await self._vectors(chunks, replaces=None if old is None else old.id)
        result = await self._store(draft, chunks, vectors, dedupe=body.dedupe)
        count_ingested(result.outcome)
        if not chunks:
            warnings = (*warnings, _NO_CHUNKS)
        return replace(result, warnings=warnings)

    async def patch(self, document_id: int, change: DocumentPatch) -> Document:
        """Change metadata; chunks whose index text changes with it are embedded again."""
        for _ in range(_PATCH_ATTEMPTS):
            patched = await self._try_patch(document_id, change)
            if patched is not None:
                return patched
        raise ConflictError("The document kept changing meanwhile; try again.")

    async def _try_patch(self, document_id: int, change: DocumentPatch) -> Document | None:
        """None when another writer came between reading and writing."""
        async with self._database.read() as connection:
            old = await store.get_document(connection, document_id, self._visible)
        if old is None:
            raise store.document_not_found()
        collection = await self._collections.get(old.collection)
        metadata = self._clean_metadata(_merged(old.metadata, change))
        draft = self._draft(old.title, old.content, metadata, collection, old.external_id)
        if draft.content_hash == old.content_hash:
            return old
        chunks = await self._chunks(draft, collection)
        vectors = await self._vectors(chunks, replaces=document_id)
        async with self._database.transaction() as connection:
            current = await store.lock_document(connection, document_id, self._visible)
            if current is None:
                raise store.document_not_found()
            if current.content_hash != old.content_hash:
                return None
            return await store.replace_document(
                connection, document_id, draft, chunks, vectors, self._embedding.model.id
            )

    # Steps

    def _clean(self, body: DocumentIn, collection: Collection) -> DocumentDraft:
        limits = self._limits
        title = _within(clean_text(body.title, "title"), limits.title_chars, "title")
        content = _within(clean_text(body.content, "content"), limits.text_chars, "content")
        external_id = body.external_id
        if external_id is not None:
            external_id = clean_text(external_id, "external_id")
        metadata = self._clean_metadata(body.metadata)
        return self._draft(title, content, metadata, collection, external_id)

    def _clean_metadata(self, metadata: dict[str, Any]) -> dict[str, Any]:
        cleaned = clean_metadata(metadata)
        size, limit = len(orjson.dumps(cleaned)), self._limits.metadata_bytes
        if size > limit:
            raise TooLargeError(
                f"metadata has {size} bytes as JSON; at most {limit} are taken "
                "(RAGBASE_MAX_METADATA_BYTES).",
                code="metadata_too_large",
            )
        return cleaned

    def _draft(
        self,
        title: str,
        content: str,
        metadata: dict[str, Any],
        collection: Collection,
        external_id: str | None,
    ) -> DocumentDraft:
        model = self._embedding.info.model
        return DocumentDraft(
            title=title,
            content=content,
            metadata=metadata,
            collection_id=collection.id,
            external_id=external_id,
            content_hash=content_hash(
                title, content, metadata, self._recipe.of(collection).digest(model)
            ),
        )

    async def _look_up(
        self, draft: DocumentDraft, *, dedupe: bool
    ) -> tuple[Document | None, IngestOutcome | None]:
        """The document to replace, and what makes all further work needless, if there is such."""
        if draft.external_id is None and not dedupe:
            return None, None
        async with self._database.read() as connection:
            old = await _by_external_id(connection, draft)
            return old, await _equal(connection, draft, old, dedupe=dedupe)

    async def _chunks(self, draft: DocumentDraft, collection: Collection) -> list[ChunkDraft]:
        rules = self._recipe.of(collection).rules(self._embedding.info.passage_tokens)
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

    async def _vectors(self, chunks: list[ChunkDraft], *, replaces: int | None) -> Vectors:
        """Vectors in chunk order; those of unchanged chunks are taken from the store."""
        known = await self._known_vectors(replaces)
        missing = [c.indexed_content for c in chunks if c.indexed_content not in known]
        if missing:
            with observe_ingest_stage("embed"):
                made = await self._embedding.embedder.embed_passages(missing)
            known = {**known, **dict(zip(missing, made, strict=True))}
        if not chunks:
            return np.zeros((0, self._embedding.info.dimension), dtype=np.float32)
        return np.stack([known[chunk.indexed_content] for chunk in chunks])

    async def _known_vectors(
        self, replaces: int | None
    ) -> dict[str, np.ndarray[Any, np.dtype[np.float32]]]:
        if replaces is None:
            return {}
        async with self._database.read() as connection:
            return await store.vectors_by_indexed_content(
                connection, replaces, self._embedding.model.id
            )

    async def _store(
        self,
        draft: DocumentDraft,
        chunks: list[ChunkDraft],
        vectors: Vectors,
        *,
        dedupe: bool,
    ) -> IngestOutcome:
        model_id = self._embedding.model.id
        with observe_ingest_stage("store"):
            async with self._database.transaction() as connection:
                if draft.external_id is not None:
                    await store.lock_external_id(connection, draft.collection_id, draft.external_id)
                if dedupe:
                    await store.lock_content(connection, draft.collection_id, draft.content_hash)
                old = await _by_external_id(connection, draft)
                kept = await _equal(connection, draft, old, dedupe=dedupe)
                if kept is not None:
                    return kept
                if old is not None:
                    document = await store.replace_document(
                        connection, old.id, draft, chunks, vectors, model_id
                    )
                    return IngestOutcome(document, "replaced")
                document = await store.insert_document(connection, draft, chunks, vectors, model_id)
                return IngestOutcome(document, "created")


_NO_CHUNKS = IngestWarning(
    code="no_chunks",
    message="The document holds nothing to search (only markup, comments or front matter).",
)


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


def _unserved(body: DocumentIn) -> tuple[IngestWarning, ...]:
    if not body.contextual_retrieval:
        return ()
    return (
        IngestWarning(
            code="context_unavailable",
            message="No LLM is configured, so the chunks have no context lines.",
        ),
    )


def _merged(old: dict[str, Any], change: DocumentPatch) -> dict[str, Any]:
    if not change.merge:
        return change.metadata
    merged = {**old, **change.metadata}
    removed = {key for key, value in change.metadata.items() if value is None}
    return {key: value for key, value in merged.items() if key not in removed}


def _within(value: str, limit: int, field: str) -> str:
    if not value.strip():
        raise InvalidInputError(f"{field} is blank.", code="blank", field=field)
    if len(value) > limit:
        raise TooLargeError(
            f"{field} has {len(value)} characters; at most {limit} are taken.",
            code="text_too_long",
        )
    return value
