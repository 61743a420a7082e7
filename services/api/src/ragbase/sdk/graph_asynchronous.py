"""`client.concepts`, `client.relations` and `client.graph`, asynchronous; the same calls as `ragbase.sdk.graph`."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Unpack

from ragbase.models.concepts import ConceptDetail, ConceptOut, RelationOut
from ragbase.models.graph_reads import CommunityOut, GraphCounts, GraphKind, NeighbourOut, NodeOut
from ragbase.sdk import graph_calls as calls
from ragbase.sdk.options import ConceptChanges, ConceptOptions, RelationOptions

if TYPE_CHECKING:
    from ragbase.sdk.asynchronous import AsyncClient

__all__ = ["AsyncConcepts", "AsyncGraph", "AsyncRelations"]


class AsyncConcepts:
    """`client.concepts`."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    async def put(self, name: str, **options: Unpack[ConceptOptions]) -> ConceptOut:
        """Store a concept; one of the very same name is replaced."""
        return await self._client.send(calls.put_concept(name, options))

    async def get(self, concept_id: int) -> ConceptDetail:
        """A concept with the relations that start at it."""
        return await self._client.send(calls.get_concept(concept_id))

    async def list(
        self,
        *,
        text: str | None = None,
        concept_type: str | None = None,
        collection: str | None = None,
        offset: int = 0,
        limit: int = 20,
    ) -> builtins.list[ConceptOut]:
        """One page of concepts, by name; ``limit`` is at most 100."""
        call = calls.list_concepts(
            text=text, concept_type=concept_type, collection=collection, offset=offset, limit=limit
        )
        return await self._client.send(call)

    async def change(self, concept_id: int, **changes: Unpack[ConceptChanges]) -> ConceptOut:
        """Change what is given; `ApiError` 409 where another concept has the name."""
        return await self._client.send(calls.change_concept(concept_id, changes))

    async def delete(self, concept_id: int) -> None:
        """Remove a concept and its relations."""
        await self._client.send(calls.delete_concept(concept_id))


class AsyncRelations:
    """`client.relations`: between concepts."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    async def put(
        self, source: str, target: str, relation_type: str, **options: Unpack[RelationOptions]
    ) -> RelationOut:
        """Relate two concepts, by their names; the same relation again is replaced."""
        return await self._client.send(calls.put_relation(source, target, relation_type, options))

    async def list(
        self, concept: str, *, collection: str | None = None, offset: int = 0, limit: int = 1000
    ) -> builtins.list[RelationOut]:
        """The relations that start or end at a concept, by id; ``limit`` is at most 1,000."""
        call = calls.list_relations(concept, collection=collection, offset=offset, limit=limit)
        return await self._client.send(call)

    async def delete(self, relation_id: int) -> None:
        """Remove a relation."""
        await self._client.send(calls.delete_relation(relation_id))


class AsyncGraph:
    """`client.graph`: the shape of the graph of concepts, or with ``kind="entity"`` of entities."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    async def neighbours(
        self, node_id: int, *, depth: int = 2, kind: GraphKind = "concept", limit: int = 1000
    ) -> list[NeighbourOut]:
        """What outgoing relations reach within ``depth`` steps (1–5), nearest first."""
        call = calls.neighbours(node_id, depth=depth, kind=kind, limit=limit)
        return await self._client.send(call)

    async def path(
        self, start: int, end: int, *, kind: GraphKind = "concept", max_depth: int = 10
    ) -> list[NodeOut]:
        """A shortest path, both ends included; `ApiError` 404 where there is none."""
        return await self._client.send(calls.path(start, end, kind=kind, max_depth=max_depth))

    async def communities(
        self, *, kind: GraphKind = "concept", collection: str | None = None
    ) -> list[CommunityOut]:
        """Every node of a collection with its community; −1: it has no relations."""
        return await self._client.send(calls.communities(kind, collection))

    async def counts(self, *, collection: str | None = None) -> GraphCounts:
        """Concepts, entities and relations; left out: of all readable collections."""
        return await self._client.send(calls.counts(collection))
