"""The calls about graphs, one function each; both clients send what these return."""

from __future__ import annotations

from pydantic import TypeAdapter

from ragbase.models.concepts import ConceptDetail, ConceptOut, RelationOut
from ragbase.models.graph_reads import CommunityOut, GraphCounts, GraphKind, NeighbourOut, NodeOut
from ragbase.models.graph_search import GraphSearchResponse
from ragbase.sdk.options import (
    ConceptChanges,
    ConceptOptions,
    GraphSearchOptions,
    RelationOptions,
)
from ragbase.sdk.wire import Call

__all__ = [
    "change_concept",
    "communities",
    "counts",
    "delete_concept",
    "delete_relation",
    "get_concept",
    "list_concepts",
    "list_relations",
    "neighbours",
    "path",
    "put_concept",
    "put_relation",
    "search_graph",
]

_SEARCH = TypeAdapter(GraphSearchResponse)
_CONCEPT = TypeAdapter(ConceptOut)
_CONCEPT_DETAIL = TypeAdapter(ConceptDetail)
_CONCEPTS = TypeAdapter(list[ConceptOut])
_RELATION = TypeAdapter(RelationOut)
_RELATIONS = TypeAdapter(list[RelationOut])
_NEIGHBOURS = TypeAdapter(list[NeighbourOut])
_NODES = TypeAdapter(list[NodeOut])
_COMMUNITIES = TypeAdapter(list[CommunityOut])
_COUNTS = TypeAdapter(GraphCounts)


def search_graph(query: str, options: GraphSearchOptions) -> Call[GraphSearchResponse]:
    """`POST /v1/search/graph`."""
    return Call("POST", "/v1/search/graph", _SEARCH, body={"query": query, **options})


def put_concept(name: str, options: ConceptOptions) -> Call[ConceptOut]:
    """`POST /v1/concepts`: made, or replaced."""
    return Call("POST", "/v1/concepts", _CONCEPT, body={"name": name, **options})


def get_concept(concept_id: int) -> Call[ConceptDetail]:
    """`GET /v1/concepts/{id}`."""
    return Call("GET", f"/v1/concepts/{concept_id}", _CONCEPT_DETAIL)


def list_concepts(
    *, text: str | None, concept_type: str | None, collection: str | None, offset: int, limit: int
) -> Call[list[ConceptOut]]:
    """`GET /v1/concepts`; by name."""
    wanted = {"text": text, "type": concept_type, "collection": collection}
    return Call("GET", "/v1/concepts", _CONCEPTS, params=_params(wanted, offset, limit))


def change_concept(concept_id: int, changes: ConceptChanges) -> Call[ConceptOut]:
    """`PATCH /v1/concepts/{id}`."""
    return Call("PATCH", f"/v1/concepts/{concept_id}", _CONCEPT, body=dict(changes))


def delete_concept(concept_id: int) -> Call[None]:
    """`DELETE /v1/concepts/{id}`."""
    return Call("DELETE", f"/v1/concepts/{concept_id}", None)


def put_relation(
    source: str, target: str, relation_type: str, options: RelationOptions
) -> Call[RelationOut]:
    """`POST /v1/relations`: made, or replaced."""
    body = {"source_name": source, "target_name": target, "relation_type": relation_type, **options}
    return Call("POST", "/v1/relations", _RELATION, body=body)


def list_relations(
    concept: str, *, collection: str | None, offset: int, limit: int
) -> Call[list[RelationOut]]:
    """`GET /v1/relations`."""
    wanted = {"concept_name": concept, "collection": collection}
    return Call("GET", "/v1/relations", _RELATIONS, params=_params(wanted, offset, limit))


def delete_relation(relation_id: int) -> Call[None]:
    """`DELETE /v1/relations/{id}`."""
    return Call("DELETE", f"/v1/relations/{relation_id}", None)


def neighbours(
    node_id: int, *, depth: int, kind: GraphKind, limit: int
) -> Call[list[NeighbourOut]]:
    """`GET /v1/graph/neighbors/{id}`."""
    params: dict[str, str | int] = {"depth": depth, "kind": kind, "limit": limit}
    return Call("GET", f"/v1/graph/neighbors/{node_id}", _NEIGHBOURS, params=params)


def path(start: int, end: int, *, kind: GraphKind, max_depth: int) -> Call[list[NodeOut]]:
    """`GET /v1/graph/path/{from}/{to}`."""
    params: dict[str, str | int] = {"kind": kind, "max_depth": max_depth}
    return Call("GET", f"/v1/graph/path/{start}/{end}", _NODES, params=params)


def communities(kind: GraphKind, collection: str | None) -> Call[list[CommunityOut]]:
    """`GET /v1/graph/communities`."""
    params = _given({"kind": kind, "collection": collection})
    return Call("GET", "/v1/graph/communities", _COMMUNITIES, params=params)


def counts(collection: str | None) -> Call[GraphCounts]:
    """`GET /v1/graph/stats`."""
    return Call("GET", "/v1/graph/stats", _COUNTS, params=_given({"collection": collection}))


def _given(wanted: dict[str, str | None]) -> dict[str, str | int]:
    return {name: value for name, value in wanted.items() if value is not None}


def _params(wanted: dict[str, str | None], offset: int, limit: int) -> dict[str, str | int]:
    return {**_given(wanted), "offset": offset, "limit": limit}
