"""Files: stored in one transaction each, listed, searched and deleted; in the collection ``localrag``."""

from __future__ import annotations

import asyncio
import copy
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, Self

from ragbase.errors import ForbiddenError, NotFoundError, UnavailableError
from ragbase.ingest.flat_windows import Window
from ragbase.limits import LOCALRAG
from ragbase.models.access import FULL_ACCESS, Access
from ragbase.models.domain import ChunkDraft, Collection, DocumentDraft
from ragbase.models.localrag import StoreIn
from ragbase.services.known_collections import KnownCollections
from ragbase.services.localrag.file_model import FileModel
from ragbase.services.localrag.notes import Note
from ragbase.services.localrag.passages import Passages, PassageService
from ragbase.storage.files import (
    FileRow,
    delete_file,
    file_collection,
    insert_file,
    list_files,
    made_collection,
)
from ragbase.storage.pool import Database
from ragbase.telemetry.metrics import count_ingested, observe_ingest_stage
from ragbase.text.analyse import analyser
from ragbase.text.clean import clean_text

__all__ = ["FileService", "StoredFile"]

TITLE_CHARS = 80
TRIES = 3
"""Of storing a file while its collection is deleted."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file as it was just stored."""

    file_id: str
    folder_id: str | None
    passages: Passages
    stored_at: datetime
    notes: list[Note] = field(default_factory=list)


class FileService:
    """Files as far as ``access`` sees them: all, or none."""

    def __init__(
        self,
        database: Database,
        passages: PassageService,
        model: FileModel,
        known: KnownCollections,
        access: Access = FULL_ACCESS,
    ) -> None:
        self._database = database
        self._passages = passages
        self._model = model
        self._known = known
        self._seen = access.sees(LOCALRAG)

    def seen_by(self, access: Access) -> Self:
        """The same, for another caller."""
        bound = copy.copy(self)
        bound._seen = access.sees(LOCALRAG)
        return bound

    async def check_model(self) -> None:
        """Raise `ConfigurationError` where the stored vectors are of another model, by its name."""
        await self._model.check()

    async def store(self, body: StoreIn) -> StoredFile:
        """Split, embed and store a document as a new file: all of it or nothing.

        Raises `InvalidInputError`, `ForbiddenError`, and what the models raise.
        """
        if not self._seen:
            raise ForbiddenError(
                f"This key is bound to other collections; files lie in {LOCALRAG!r}.",
                code="key_is_bound",
            )
        text = self._passages.checked(body.document, "document")
        folder_id = clean_text(body.folder_id, "folder_id") if body.folder_id else None
        self._passages.check(text, body)
        chosen = await self._model.ready()
        passages = await self._passages.make(text, body, chosen.embedder)
        file_id = secrets.token_hex(16)
        with observe_ingest_stage("store"):
            insert = partial(self._insert, text, file_id, folder_id, passages, chosen.model.id)
            stored_at = await self._kept(insert)
        count_ingested("created")
        notes = [*chosen.notes, *passages.notes]
        return StoredFile(file_id, folder_id, passages, stored_at, notes)

    async def page(
        self, *, page: int, page_size: int, folder_id: str | None, file_id: str | None
    ) -> tuple[list[FileRow], int]:
        """Files in the order in which they were stored, and how many there are."""
        folder_id = clean_text(folder_id, "folder_id") if folder_id else None
        file_id = clean_text(file_id, "file_id") if file_id else None
        if not self._seen:
            return [], 0
        async with self._database.read() as connection:
            return await list_files(
                connection,
                folder_id=folder_id,
                file_id=file_id,
                offset=(page - 1) * page_size,
                limit=page_size,
            )

    async def delete(self, file_id: str) -> None:
        """Remove every trace of a file. Raises `NotFoundError`, `InvalidInputError`."""
        file_id = clean_text(file_id, "file_id")
        async with self._database.transaction() as connection:
            if not self._seen or not await delete_file(connection, file_id):
                raise NotFoundError("No chunks found for this file_id", code="file_not_found")

    async def _kept(self, insert: Callable[[], Awaitable[datetime]]) -> datetime:
        """Store it; in a collection made anew where somebody deletes the one that it was meant for,
        as if the file had come after that."""
        for _ in range(TRIES):
            try:
                return await insert()
            except NotFoundError as error:
                if error.code != "collection_not_found":
                    raise
                self._known.forget()
        raise UnavailableError(
            f"The collection {LOCALRAG!r} was deleted each time that the file was about to be "
            "stored. Send it again.",
            code="collection_deleted",
        )

    async def _insert(
        self,
        text: str,
        file_id: str,
        folder_id: str | None,
        passages: Passages,
        model_id: int,
    ) -> datetime:
        collection = await self._collection()
        chunks = await asyncio.to_thread(_drafts, passages.windows, passages.contexts, collection)
        metadata: dict[str, Any] = {} if folder_id is None else {"folder_id": folder_id}
        draft = DocumentDraft(
            title=_title(text),
            content=text,
            metadata=metadata,
            collection_id=collection.id,
            external_id=file_id,
        )
        async with self._database.transaction() as connection:
            return await insert_file(
                connection, draft, chunks, passages.vectors, passages.context_vectors, model_id
            )

    async def _collection(self) -> Collection:
        async with self._database.read() as connection:
            found = await file_collection(connection)
        if found is not None:
            return found
        async with self._database.transaction() as connection:
            made = await made_collection(connection)
        self._known.forget()
        return made


def _title(text: str) -> str:
    """The first words, as contract A's lists show them."""
    words = " ".join(text[: 4 * TITLE_CHARS].split())
    return words if len(words) <= TITLE_CHARS else words[: TITLE_CHARS - 1].rstrip() + "…"


def _drafts(
    windows: Sequence[Window], contexts: Sequence[str], collection: Collection
) -> list[ChunkDraft]:
    """Keyword search reads context and content."""
    analyse = analyser(collection.language)
    drafts = []
    for index, (window, context) in enumerate(zip(windows, contexts, strict=True)):
        indexed = f"{context} {window.content}" if context else window.content
        drafts.append(
            ChunkDraft(
                index=index,
                content=window.content,
                indexed_content=indexed,
                start=window.start,
                end=window.end,
                token_count=window.words,
                terms=analyse.terms(indexed),
                context=context or None,
            )
        )
    return drafts
