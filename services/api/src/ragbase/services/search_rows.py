"""Makes the rows of an answer: the page's chunks read back by one statement, with their places."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from ragbase.models.domain import ArmName, Hit, StoredChunk
from ragbase.models.search import ExplainedPart, Highlight, Place, SearchRow
from ragbase.retrieval.fusion import FusedHit
from ragbase.retrieval.highlight import Highlighter
from ragbase.services.search_plan import SearchPlan
from ragbase.text.analyse import analyser

__all__ = ["Explanation", "explain", "first_of_each_document", "make_rows"]

Explanation = Mapping[int, dict[ExplainedPart, Place]]
"""Chunk id → places."""


def first_of_each_document(
    hits: Iterable[FusedHit], documents: Mapping[int, int]
) -> list[FusedHit]:
    """The best chunk of each document, in order. ``documents``: by chunk id; others are gone."""
    best: dict[int, FusedHit] = {}
    for hit in hits:
        if hit.chunk_id in documents:
            best.setdefault(documents[hit.chunk_id], hit)
    return list(best.values())


def make_rows(
    plan: SearchPlan,
    page: Sequence[FusedHit],
    chunks: Mapping[int, StoredChunk],
    explanation: Explanation | None,
) -> list[SearchRow]:
    """Rows in the order of ``page``, without chunks that were deleted meanwhile."""
    mark = _marker(plan)
    return [
        _row(hit, chunks[hit.chunk_id], mark, explanation) for hit in page if hit.chunk_id in chunks
    ]


def _row(
    hit: FusedHit,
    chunk: StoredChunk,
    mark: Callable[[StoredChunk], list[Highlight]],
    explanation: Explanation | None,
) -> SearchRow:
    return SearchRow(
        chunk_id=hit.chunk_id,
        document_id=chunk.document_id,
        document_title=chunk.document_title,
        content=chunk.content,
        score=hit.score,
        sources=list(hit.sources),
        collection=chunk.collection,
        external_id=chunk.external_id,
        metadata=chunk.metadata,
        chunk_index=chunk.chunk_index,
        start=chunk.start,
        end=chunk.end,
        highlights=mark(chunk),
        explain=None if explanation is None else explanation.get(hit.chunk_id, {}),
    )


def _marker(plan: SearchPlan) -> Callable[[StoredChunk], list[Highlight]]:
    languages = {collection.name: collection.language for collection in plan.collections}
    highlighters = {
        language: Highlighter(analyser(language).query_terms(plan.text), language)
        for language in languages.values()
    }

    def mark(chunk: StoredChunk) -> list[Highlight]:
        spans = highlighters[languages[chunk.collection]].spans(chunk.content)
        return [Highlight(start, end) for start, end in spans]

    return mark


def explain(
    page: Sequence[FusedHit],
    rankings: Mapping[ArmName, Sequence[Hit]],
    fused: Sequence[FusedHit],
    reranked: Sequence[FusedHit],
) -> Explanation:
    """Rank and score of the page's rows in each arm, after fusion and after reranking.

    ``fused`` and ``reranked`` are empty where there was no such stage; ``reranked`` holds only rows
    that the reranker scored.
    """
    places: dict[int, dict[ExplainedPart, Place]] = {hit.chunk_id: {} for hit in page}
    stages: list[tuple[ExplainedPart, Sequence[Hit | FusedHit]]] = [
        *rankings.items(),
        ("fused", fused),
        ("rerank", reranked),
    ]
    for stage, hits in stages:
        for rank, hit in enumerate(hits, 1):
            if hit.chunk_id in places:
                places[hit.chunk_id].setdefault(stage, Place(rank, hit.score))
    return places
