"""Entities for people: what there is, and mending what extraction got wrong."""

from __future__ import annotations

from collections.abc import Sequence

from ragbase.errors import InvalidInputError, NotFoundError
from ragbase.models.access import FULL_ACCESS, Access
from ragbase.models.entities import EntityMerge, EntityOut, EntityPatch
from ragbase.services.bound import CollectionBound
from ragbase.services.collections import CollectionService
from ragbase.storage import graph_entities as store
from ragbase.storage.again import again_after_deadlock
from ragbase.storage.pool import Connection, Database
from ragbase.text.clean import clean_text
from ragbase.text.entity_names import display_name, normalise

__all__ = ["EntityService"]


class EntityService(CollectionBound):
    """Entities of the collections that ``access`` sees; others do not exist.

    Renames and merges hold for documents that come later; what is deleted comes back when a
    document that names it is extracted from again.
    """

    def __init__(
        self, database: Database, collections: CollectionService, access: Access = FULL_ACCESS
    ) -> None:
        self._database = database
        super().__init__(collections, access)

    async def page(
        self,
        *,
        offset: int,
        limit: int,
        collection: str | None = None,
        kind: str | None = None,
        query: str | None = None,
    ) -> tuple[list[EntityOut], int]:
        """By name, and how many there are. Raises `NotFoundError` for the collection."""
        within = self._visible
        if collection is not None:
            within = [(await self._collections.get(collection)).name]
        text = None if query is None else normalise(query)
        if text == "":
            return [], 0
        kind = None if kind is None else clean_text(kind, "type")
        wanted = store.EntityFilter(within, kind, text)
        async with self._database.read() as connection:
            found, total = await store.list_entities(connection, wanted, offset=offset, limit=limit)
        return [_out(entity) for entity in found], total

    async def get(self, entity_id: int) -> EntityOut:
        """One entity. Raises `NotFoundError`."""
        async with self._database.read() as connection:
            return _out(await self._read(connection, entity_id))

    @again_after_deadlock
    async def rename(self, entity_id: int, change: EntityPatch) -> EntityOut:
        """Raises `NotFoundError`, `InvalidInputError`, and `ConflictError` where another entity of
        the collection bears the name.
        """
        name = display_name(clean_text(change.name, "name"))
        normal = normalise(name)
        if not normal:
            raise InvalidInputError(
                "name has neither letter nor digit.", code="blank", field="name"
            )
        async with self._database.transaction() as connection:
            await self._locked(connection, [entity_id])
            await store.rename_entity(connection, entity_id, normal, name)
            return _out(await self._read(connection, entity_id))

    @again_after_deadlock
    async def merge(self, merge: EntityMerge) -> EntityOut:
        """The target, which is all of them now.

        Raises `NotFoundError` where one is not there, `InvalidInputError` where they are of
        different collections, or the target is among the sources.
        """
        sources = sorted(set(merge.source_ids))
        if merge.target_id in sources:
            raise InvalidInputError(
                "An entity cannot be merged into itself.",
                code="self_merge",
                field="source_ids",
            )
        async with self._database.transaction() as connection:
            collections = await self._locked(connection, [merge.target_id, *sources])
            if len(collections) > 1:
                raise InvalidInputError(
                    "Entities of different collections cannot be merged.",
                    code="collections_differ",
                    field="source_ids",
                )
            await store.merge_entities(connection, merge.target_id, sources)
            return _out(await self._read(connection, merge.target_id))

    @again_after_deadlock
    async def delete(self, entity_id: int) -> None:
        """Remove it, its mentions and relations. Raises `NotFoundError`."""
        async with self._database.transaction() as connection:
            await self._locked(connection, [entity_id])
            await store.delete_entity(connection, entity_id)

    async def _locked(self, connection: Connection, entity_ids: Sequence[int]) -> set[int]:
        """Lock entities that are there and may be seen; ids of their collections."""
        for entity_id in entity_ids:
            await self._read(connection, entity_id)
        locked = await store.lock_entities(connection, entity_ids)
        if set(entity_ids) - set(locked):
            raise _not_found()
        return set(locked.values())

    async def _read(self, connection: Connection, entity_id: int) -> store.StoredEntity:
        entity = await store.get_entity(connection, entity_id, self._visible)
        if entity is None:
            raise _not_found()
        return entity


def _not_found() -> NotFoundError:
    return NotFoundError("Entity not found", code="entity_not_found")


def _out(entity: store.StoredEntity) -> EntityOut:
    return EntityOut(
        id=entity.id,
        collection=entity.collection,
        name=entity.name,
        type=entity.type,
        description=entity.description,
        mentions=entity.mentions,
        aliases=list(entity.aliases),
        created_at=entity.created_at,
    )
