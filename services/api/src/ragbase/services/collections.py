"""Collections: named, isolated sets of documents with settings of their own."""

from __future__ import annotations

import copy
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Self

from ragbase.errors import ConflictError, ForbiddenError, InvalidInputError, NotFoundError
from ragbase.limits import COLLECTION_NAME
from ragbase.models.access import FULL_ACCESS, Access
from ragbase.models.collections import Chunking, CollectionOut, CollectionSettings
from ragbase.models.domain import Collection
from ragbase.models.fusion import read_fusion
from ragbase.services.embedding import EmbeddingRuntime
from ragbase.services.known_collections import KnownCollections
from ragbase.storage import collections as store
from ragbase.storage.collections import Counts
from ragbase.storage.pool import Connection, Database
from ragbase.text.analyse import normalise_language

__all__ = ["CollectionService", "collection_not_found"]


def collection_not_found(name: str) -> NotFoundError:
    """The one answer for a collection that is not there (or may not be read)."""
    if re.fullmatch(COLLECTION_NAME, name):
        advice = f"Create it with PUT /v1/collections/{name}."
    else:
        advice = "Names are lower-case letters, digits, _ and -, at most 63."
    return NotFoundError(f"There is no collection {name!r}. {advice}", code="collection_not_found")


class CollectionService:
    """Makes, changes, describes and removes collections, as far as ``access`` sees them."""

    def __init__(
        self,
        database: Database,
        embedding: EmbeddingRuntime,
        known: KnownCollections,
        *,
        default_fusion: Mapping[str, Any],
        access: Access = FULL_ACCESS,
    ) -> None:
        self._database = database
        self._embedding = embedding
        self._known = known
        self._default_fusion = default_fusion
        self._access = access

    def seen_by(self, access: Access) -> Self:
        """The same, for another caller."""
        bound = copy.copy(self)
        bound._access = access
        return bound

    async def get(self, name: str) -> Collection:
        """The collection of this name. Raises `NotFoundError`."""
        self._look_for(name)
        async with self._database.read() as connection:
            return await _get(connection, name)

    async def all(self) -> list[CollectionOut]:
        """Every collection that may be seen, with its counts, by name."""
        async with self._database.read() as connection:
            rows = await store.list_collections(connection, self._access.visible())
            counts = await store.count_contents(connection, [row.id for row in rows])
        return [_to_out(row, counts.get(row.id, Counts())) for row in rows]

    async def describe(self, name: str) -> CollectionOut:
        """One collection with its counts. Raises `NotFoundError`."""
        self._look_for(name)
        async with self._database.read() as connection:
            return await _described(connection, await _get(connection, name))

    async def create(self, name: str, settings: CollectionSettings) -> CollectionOut:
        """Make a collection.

        Raises `ConflictError` when the name is taken, and `ForbiddenError` for a name that the
        caller would not see, taken or not.
        """
        self._may_make(name)
        values = self._values(name, settings)
        async with self._changing() as connection:
            return _to_out(await store.create_collection(connection, name, **values), Counts())

    async def put(self, name: str, settings: CollectionSettings) -> tuple[CollectionOut, bool]:
        """Make a collection or set all its settings; the second value tells whether it is new.

        Raises `ConflictError` when the language of a filled collection would change: the terms
        stored with its chunks are of the old one; `ForbiddenError` as `create`.
        """
        self._may_make(name)
        async with self._changing() as connection:
            values = self._values(name, settings)
            old = await store.get_collection(connection, name)
            if old is None:
                try:
                    made = await store.create_collection(connection, name, **values)
                except ConflictError:
                    old = await _get(connection, name)  # another call made it meanwhile
                else:
                    return _to_out(made, Counts()), True
            await _refuse_other_language(connection, old, values["language"])
            changed = await store.update_collection(connection, name, **values)
            if changed is None:
                raise collection_not_found(name)
            return await _described(connection, changed), False

    async def delete(self, name: str) -> None:
        """Remove a collection with its documents. Raises `NotFoundError`, `ConflictError`."""
        self._look_for(name)
        async with self._changing() as connection:
            if not await store.delete_collection(connection, name):
                raise collection_not_found(name)

    def _look_for(self, name: str) -> None:
        """Before the database is asked, so that time does not tell whether it exists.

        What can be no name (NUL, say) is not asked for either.
        """
        if not self._access.sees(name) or not re.fullmatch(COLLECTION_NAME, name):
            raise collection_not_found(name)

    def _may_make(self, name: str) -> None:
        if not self._access.sees(name):
            raise ForbiddenError(
                "This key is bound to collections of other names and can make only those.",
                code="key_is_bound",
            )

    @asynccontextmanager
    async def _changing(self) -> AsyncIterator[Connection]:
        async with self._database.transaction() as connection:
            yield connection
        self._known.forget()

    def _values(self, name: str, settings: CollectionSettings) -> dict[str, Any]:
        """What to store: the same for the same request, whether the collection is there or not."""
        self._check_model(settings.embedding_model)
        fusion = settings.fusion.model_dump() if settings.fusion else None
        if fusion is None and name != store.DEFAULT:
            fusion = dict(self._default_fusion)
        chunking = settings.chunking.model_dump() if settings.chunking else None
        language = normalise_language(settings.language)
        return {
            "language": language,
            "fusion": fusion,
            "chunking": chunking,
            "contextual_retrieval": settings.contextual_retrieval,
        }

    def _check_model(self, name: str | None) -> None:
        if name is None:
            return
        served = self._embedding.info.model
        if name != served:
            raise InvalidInputError(
                f"This server embeds with {served!r} only.",
                code="unknown_embedding_model",
                field="embedding_model",
            )


async def _get(connection: Connection, name: str) -> Collection:
    collection = await store.get_collection(connection, name)
    if collection is None:
        raise collection_not_found(name)
    return collection


async def _described(connection: Connection, collection: Collection) -> CollectionOut:
    counts = await store.count_contents(connection, [collection.id])
    return _to_out(collection, counts.get(collection.id, Counts()))


async def _refuse_other_language(connection: Connection, old: Collection, language: str) -> None:
    if old.language == language:
        return
    counts = await store.count_contents(connection, [old.id])
    if counts.get(old.id, Counts()).documents:
        raise ConflictError(
            f"Collection {old.name!r} holds documents indexed as {old.language!r}. Make a new "
            f"collection for {language!r} and ingest them there.",
            code="language_in_use",
        )


def _to_out(collection: Collection, counts: Counts) -> CollectionOut:
    return CollectionOut(
        name=collection.name,
        language=collection.language,
        fusion=read_fusion(collection.fusion) if collection.fusion else None,
        chunking=Chunking(**collection.chunking) if collection.chunking else None,
        contextual_retrieval=collection.contextual_retrieval,
        embedding_model=collection.embedding_model,
        created_at=collection.created_at,
        documents=counts.documents,
        chunks=counts.chunks,
    )
