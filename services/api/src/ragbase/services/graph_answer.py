"""Makes the answer of graph search out of what was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragbase.graph.links import Linked
from ragbase.graph.subgraph import Edge, Node
from ragbase.graph.support import SupportedChunk
from ragbase.models.graph_search import (
    GraphChunk,
    GraphEdge,
    GraphNode,
    GraphSearchRequest,
    GraphSearchResponse,
    GraphTrace,
    MatchedEntity,
    Subgraph,
)
from ragbase.models.search import SearchWarning

__all__ = ["GraphFindings", "answer_of"]


@dataclass(frozen=True, slots=True)
class GraphFindings:
    """What a graph search found, and the seconds it took; ``scores`` are by chunk id."""

    linked: Linked
    nodes: Sequence[Node]
    edges: Sequence[Edge]
    chunks: Sequence[SupportedChunk]
    scores: Mapping[int, float] = field(default_factory=dict)
    graph_s: float = 0.0
    chunks_s: float = 0.0


def answer_of(
    request: GraphSearchRequest,
    found: GraphFindings,
    warnings: Sequence[SearchWarning],
    *,
    total_s: float,
    ner_s: float,
) -> GraphSearchResponse:
    """The answer. Fields that were not asked for stay unset, and so does an empty ``warnings``.

    Entities that a filter took away are not matched either.
    """
    names = {node.id: node.name for node in found.nodes}
    matched = _matched(request, found.linked, names)
    extra: dict[str, Any] = {"warnings": list(warnings)} if warnings else {}
    return GraphSearchResponse(
        query=request.query,
        matched_entities=matched,
        subgraph=Subgraph(
            nodes=_nodes(request, found),
            edges=[
                _edge(edge, names)
                for edge in found.edges
                if {edge.source, edge.target} <= names.keys()
            ],
        ),
        chunks=[_chunk(request, chunk, names, found.scores) for chunk in found.chunks],
        trace=GraphTrace(
            latency_ms=_ms(total_s),
            ner_ms=_ms(ner_s),
            graph_ms=_ms(found.graph_s),
            chunk_bridge_ms=_ms(found.chunks_s),
            n_ner_entities=found.linked.phrases,
            n_matched_nodes=len({link.entity.id for link in found.linked.links} & names.keys()),
            n_subgraph_nodes=len(found.nodes),
            n_subgraph_edges=len(found.edges),
        ),
        **extra,
    )


def _matched(
    request: GraphSearchRequest, linked: Linked, names: Mapping[int, str]
) -> list[MatchedEntity]:
    return [
        MatchedEntity(
            id=link.entity.name,
            name=link.entity.name,
            type=link.entity.type,
            match_score=round(link.score, 4),
            match_method=link.entity.method,
            source_phrase=link.phrase,
            **({"entity_id": link.entity.id} if request.explain else {}),
        )
        for link in linked.links
        if link.entity.id in names
    ]


def _nodes(request: GraphSearchRequest, found: GraphFindings) -> list[GraphNode]:
    """Named ones first, in the order found; the others by degree, then name, or as found."""
    seeds = found.linked.seeds()
    nodes = list(found.nodes)
    if request.ranking == "degree":
        named = [node for node in nodes if node.id in seeds]
        others = [node for node in nodes if node.id not in seeds]
        nodes = [*named, *sorted(others, key=lambda node: (-node.degree, node.name, node.id))]
    return [_node(request, node) for node in nodes]


def _node(request: GraphSearchRequest, node: Node) -> GraphNode:
    return GraphNode(
        id=node.name,
        name=node.name,
        type=node.type,
        description=node.description or None,
        degree=node.degree,
        **({"entity_id": node.id, "collection": node.collection} if request.explain else {}),
    )


def _edge(edge: Edge, names: Mapping[int, str]) -> GraphEdge:
    return GraphEdge(
        source=names[edge.source],
        target=names[edge.target],
        relation=edge.description or edge.keywords,  # NER tells that they are related, not how
        weight=edge.weight,
        keywords=edge.keywords or None,
    )


def _chunk(
    request: GraphSearchRequest,
    chunk: SupportedChunk,
    names: Mapping[int, str],
    scores: Mapping[int, float],
) -> GraphChunk:
    explained = {
        "document_title": chunk.title,
        "external_id": chunk.external_id,
        "score": scores.get(chunk.chunk_id),
    }
    return GraphChunk(
        chunk_id=chunk.chunk_id,
        doc_id=chunk.document_id,
        lightrag_chunk_hash=f"chunk-{chunk.chunk_id}",
        text=chunk.content,
        source_entities=sorted({names[one] for one in chunk.entities if one in names}),
        **(explained if request.explain else {}),
    )


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 2)
