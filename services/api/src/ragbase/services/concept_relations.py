"""Relations between concepts, which callers draw themselves."""

from __future__ import annotations

from ragbase.errors import ContradictoryError, InvalidInputError, NotFoundError
from ragbase.models.access import FULL_ACCESS, Access
from ragbase.models.concepts import RelationIn, RelationOut
from ragbase.services.collections import CollectionService
from ragbase.services.concepts import clean_name
from ragbase.services.graph_bound import GraphBound, shown
from ragbase.services.ingest_checks import IngestLimits, check_metadata
from ragbase.storage import concept_relations as store
from ragbase.storage.collections import DEFAULT
from ragbase.storage.pool import Database
from ragbase.text.clean import clean_text
from ragbase.text.relation_types import clean_relation_type

__all__ = ["ConceptRelationService"]


class ConceptRelationService(GraphBound):
    """Relations within the collections that ``access`` sees; others do not exist.

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

    async def put(self, body: RelationIn) -> RelationOut:
        """Make a relation; the same source, type and target again replaces its metadata.

        Raises `InvalidInputError`, `ContradictoryError`, `NotFoundError` for the collection or a
        concept.
        """
        self._require_graph()
        source = clean_name(body.source_name, "source_name")
        target = clean_name(body.target_name, "target_name")
        if source == target:
            raise ContradictoryError(
                "Self-referencing relations are not allowed", code="self_reference"
            )
        said = clean_text(body.relation_type, "relation_type")
        if not said.strip():
            raise InvalidInputError("relation_type is blank.", code="blank", field="relation_type")
        kind = clean_relation_type(said)
        metadata = check_metadata(body.metadata, self._limits)
        collection = await self._collections.get(body.collection)
        async with self._database.transaction() as connection:
            made = await store.put_relation(
                connection, collection.id, source, target, type=kind, metadata=metadata
            )
        if made is None:
            raise NotFoundError("One or both concepts not found", code="concept_not_found")
        return _out(store.StoredRelation(made, source, target, kind, metadata), collection.name)

    async def of_concept(
        self, name: str, *, offset: int, limit: int, collection: str = DEFAULT
    ) -> tuple[list[RelationOut], int]:
        """The relations that start or end at the concept of this very name, by id, and how many
        there are; none where there is no such concept. Raises `NotFoundError` for the collection.
        """
        self._require_graph()
        wanted = clean_text(name, "concept_name")
        where = await self._collections.get(collection)
        async with self._database.read() as connection:
            rows, total = await store.list_relations(
                connection, where.id, wanted, offset=offset, limit=limit
            )
        return [_out(row, where.name) for row in rows], total

    async def delete(self, relation_id: int) -> None:
        """Remove a relation. Raises `NotFoundError`."""
        self._require_graph()
        async with self._database.transaction() as connection:
            if not await store.delete_relation(connection, relation_id, self._visible):
                raise NotFoundError("Relation not found", code="relation_not_found")


def _out(relation: store.StoredRelation, collection: str) -> RelationOut:
    return RelationOut(
        id=relation.id,
        source=relation.source,
        target=relation.target,
        relation_type=relation.type,
        metadata=relation.metadata,
        **shown(collection),
    )
