"""Concepts: nodes of a graph that callers draw themselves."""

from __future__ import annotations

from ragbase.errors import InvalidInputError, NotFoundError
from ragbase.models.access import FULL_ACCESS, Access
from ragbase.models.concepts import (
    ConceptDetail,
    ConceptIn,
    ConceptOut,
    ConceptPatch,
    OutgoingRelation,
)
from ragbase.services.collections import CollectionService
from ragbase.services.graph_bound import GraphBound, shown
from ragbase.services.ingest_checks import IngestLimits, check_metadata
from ragbase.storage import concepts as store
from ragbase.storage.pool import Connection, Database
from ragbase.text.clean import clean_text

__all__ = ["ConceptService", "clean_name"]


def clean_name(value: str, field: str) -> str:
    """A name as it is stored: NFC, otherwise as it was given. Raises `InvalidInputError`."""
    name = clean_text(value, field)
    if not name.strip():
        raise InvalidInputError(f"{field} is blank.", code="blank", field=field)
    return name


class ConceptService(GraphBound):
    """Concepts of the collections that ``access`` sees; others do not exist.

    Every call raises `UnavailableError` (``graph_off``) where the graph is off.
    """

    def __init__(
        self,
        database: Database,
        collections: CollectionService,
        limits: IngestLimits,
        *,
        enabled: bool = True,
        access: Access = FULL_ACCESS,
    ) -> None:
        super().__init__(database, collections, enabled=enabled, access=access)
        self._limits = limits

    async def put(self, body: ConceptIn) -> ConceptOut:
        """Make a concept, or replace the one of this very name.

        Raises `InvalidInputError`, and `NotFoundError` for the collection.
        """
        self._require_graph()
        name = clean_name(body.name, "name")
        kind = clean_text(body.type, "type")
        description = clean_text(body.description, "description")
        metadata = check_metadata(body.metadata, self._limits)
        collection = await self._collections.get(body.collection)
        async with self._database.transaction() as connection:
            concept_id = await store.put_concept(
                connection,
                collection.id,
                name,
                type=kind,
                description=description,
                metadata=metadata,
            )
            return _out(await self._read(connection, concept_id))

    async def get(self, concept_id: int) -> tuple[ConceptDetail, int]:
        """A concept with the first relations that start at it, and how many do.

        Raises `NotFoundError`.
        """
        self._require_graph()
        async with self._database.read() as connection:
            concept = await self._read(connection, concept_id)
            rows, total = await store.outgoing(connection, concept_id)
        relations = [
            OutgoingRelation(relation_type=kind, target=name, target_id=target)
            for kind, name, target in rows
        ]
        return ConceptDetail(**_fields(concept), relations=relations), total

    async def page(
        self,
        *,
        offset: int,
        limit: int,
        collection: str | None = None,
        kind: str | None = None,
        text: str | None = None,
    ) -> tuple[list[ConceptOut], int]:
        """By name, and how many there are. Raises `NotFoundError` for the collection."""
        self._require_graph()
        wanted = store.ConceptFilter(
            await self._named(collection),
            None if kind is None else clean_text(kind, "type"),
            None if text is None else clean_text(text, "text"),
        )
        async with self._database.read() as connection:
            found, total = await store.list_concepts(connection, wanted, offset=offset, limit=limit)
        return [_out(concept) for concept in found], total

    async def change(self, concept_id: int, change: ConceptPatch) -> ConceptOut:
        """Set what the request gives; the rest stays.

        Raises `NotFoundError`, `InvalidInputError`, and `ConflictError` where another concept of
        the collection bears the name.
        """
        self._require_graph()
        given = change.model_fields_set
        name = clean_name(change.name, "name") if "name" in given else None
        kind = clean_text(change.type, "type") if "type" in given else None
        said = clean_text(change.description, "description") if "description" in given else None
        metadata = check_metadata(change.metadata, self._limits) if "metadata" in given else None
        async with self._database.transaction() as connection:
            await self._read(connection, concept_id)
            await store.change_concept(
                connection, concept_id, name=name, type=kind, description=said, metadata=metadata
            )
            return _out(await self._read(connection, concept_id))

    async def delete(self, concept_id: int) -> None:
        """Remove a concept and all relations that start or end at it. Raises `NotFoundError`."""
        self._require_graph()
        async with self._database.transaction() as connection:
            await self._read(connection, concept_id)
            if not await store.delete_concept(connection, concept_id):
                raise _not_found()

    async def _read(self, connection: Connection, concept_id: int) -> store.StoredConcept:
        concept = await store.get_concept(connection, concept_id, self._visible)
        if concept is None:
            raise _not_found()
        return concept


def _not_found() -> NotFoundError:
    return NotFoundError("Concept not found", code="concept_not_found")


def _out(concept: store.StoredConcept) -> ConceptOut:
    return ConceptOut(**_fields(concept))


def _fields(concept: store.StoredConcept) -> dict[str, object]:
    return {
        "id": concept.id,
        "name": concept.name,
        "type": concept.type,
        "description": concept.description,
        "metadata": concept.metadata,
        **shown(concept.collection),
    }
