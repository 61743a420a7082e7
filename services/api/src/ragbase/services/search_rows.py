"""Makes the rows of an answer: the page's chunks read back by one statement, with their places."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from ragbase.models.domain import ArmName, Hit, StoredChunk
from ragbase.models.search import ExplainedPart, Highlight, Place, SearchRow
from ragbase.retrieval.fusion import FusedHit
from ragbase.retrieval.highlight import highlights
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
    shown = [(hit, chunks[hit.chunk_id]) for hit in page if hit.chunk_id in chunks]
    marks = _marks(plan, [chunk for _, chunk in shown])
    return [_row(hit, chunk, marks[chunk.id], explanation) for hit, chunk in shown]


def _row(
    hit: FusedHit, chunk: StoredChunk, marks: list[Highlight], explanation: Explanation | None
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
        highlights=marks,
        explain=None if explanation is None else explanation.get(hit.chunk_id, {}),
    )


def _marks(plan: SearchPlan, chunks: Iterable[StoredChunk]) -> dict[int, list[Highlight]]:
    """Highlights by chunk id, by the terms of each chunk's own language."""
    languages = {collection.name: collection.language for collection in plan.collections}
    groups: defaultdict[str, list[StoredChunk]] = defaultdict(list)
    for chunk in chunks:
        groups[languages[chunk.collection]].append(chunk)
    marks: dict[int, list[Highlight]] = {}
    for language, group in groups.items():
        its = analyser(language)
        found = highlights([chunk.content for chunk in group], its.query_terms(plan.text), its)
        for chunk, spans in zip(group, found, strict=True):
            marks[chunk.id] = [Highlight(start, end) for start, end in spans]
    return marks


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
