"""Search: arms at the same time → fusion → rerank → page → rows."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from typing import Literal, Self

from ragbase.clients.embedder import Embedder
from ragbase.models.access import Access
from ragbase.models.domain import ArmName, Hit, StoredChunk
from ragbase.models.fusion import RrfFusion, WeightedFusion
from ragbase.models.search import (
    Retriever,
    ScoreKind,
    SearchRequest,
    SearchResponse,
    SearchRow,
    Timings,
)
from ragbase.retrieval.arms import Arm, ArmQuery
from ragbase.retrieval.fusion import FusedHit, arm_weight, counted_arms, fuse
from ragbase.retrieval.graph_arm import GraphArm, warn_of_no_graph
from ragbase.retrieval.query_vector import QueryVector
from ragbase.retrieval.rerank import rerank_depth
from ragbase.retrieval.trace import Trace
from ragbase.services.known_collections import KnownCollections
from ragbase.services.rerankers import Rerankers
from ragbase.services.search_arms import run_arms
from ragbase.services.search_plan import SearchPlan, check_search, find_collections
from ragbase.services.search_rerank import Reranked, RerankStage
from ragbase.services.search_rows import explain, first_of_each_document, make_rows
from ragbase.settings import Settings
from ragbase.storage.chunks import document_ids, load_chunks
from ragbase.storage.pool import Database
from ragbase.telemetry import metrics

__all__ = ["SearchService"]

Mode = Literal["hybrid", "semantic", "keyword"]


class SearchService:
    """The three search routes of the contract's §5."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        *,
        embedder: Embedder,
        semantic: Arm,
        keyword: Arm,
        known: KnownCollections | None = None,
        graph: GraphArm | None = None,
        rerank: RerankStage | None = None,
    ) -> None:
        self._database = database
        self._settings = settings
        self._known = known or KnownCollections(database, kept_s=0)
        self._embedder = embedder
        self._semantic = semantic
        self._keyword = keyword
        self._graph = graph
        self._rerank = rerank or RerankStage(Rerankers())

    def seen_by(self, access: Access) -> Self:
        """The same, for a caller who may see only some collections."""
        bound = copy.copy(self)
        bound._known = self._known.seen_by(access)
        return bound

    async def search(self, request: SearchRequest) -> SearchResponse:
        """Hybrid search.

        Raises `InvalidInputError`, `NotFoundError` for an unknown collection, and
        `UnavailableError` when no arm answers.
        """
        trace = Trace()
        plan = check_search(request, self._settings)
        reranker = self._rerank.choose(plan, trace)
        wanted = arm_weight(plan.fusion, "semantic") > 0
        async with self._vector(plan, trace, wanted=wanted) as vector:
            plan = await find_collections(plan, self._known)
            rankings = await self._run(self._hybrid_arms(plan, trace), plan, trace, vector)
        with trace.stage("fuse"):
            limit = _rows_needed(plan, reranked=reranker is not None)
            fused = fuse(rankings, plan.fusion, gates=trace.gates, limit=limit)
        chunks: dict[int, StoredChunk] = {}
        reranked = None
        if reranker is not None and fused:
            head = fused[: rerank_depth(plan.rerank_candidates, plan.top_k)]
            chunks = await self._load(head, indexed=True)
            reranked = await self._rerank.run(reranker, plan, fused, chunks, trace)
        page = await self._page(reranked.ranked.hits if reranked else fused, plan)
        rows = await self._rows(plan, page, chunks, rankings, fused, reranked)
        used: list[Retriever] = [*counted_arms(rankings, plan.fusion, trace.gates)]
        kind: ScoreKind = "rrf" if isinstance(plan.fusion, RrfFusion) else "weighted"
        if reranked is None:
            return _answer("hybrid", plan, rows, trace, used=used, kind=kind)
        used.append("rerank")
        return _answer("hybrid", plan, rows, trace, used=used, kind="rerank", by=reranked.by)

    async def semantic(self, request: SearchRequest) -> SearchResponse:
        """Rows by cosine similarity alone. Raises as `search` does."""
        return await self._single(request, self._semantic, "semantic", "cosine")

    async def keyword(self, request: SearchRequest) -> SearchResponse:
        """Rows by BM25 alone; works without an embedder. Raises as `search` does."""
        return await self._single(request, self._keyword, "keyword", "bm25")

    async def _single(
        self,
        request: SearchRequest,
        arm: Arm,
        mode: Literal["semantic", "keyword"],
        kind: ScoreKind,
    ) -> SearchResponse:
        trace = Trace()
        plan = _only_this_page(check_search(request, self._settings))
        async with self._vector(plan, trace, wanted=mode == "semantic") as vector:
            plan = await find_collections(plan, self._known)
            # The arm's rows are the page's: read along with the hits, they cost one statement less.
            chunks: dict[int, StoredChunk] = {}
            wanted = chunks if plan.depth == plan.top_k else None
            rankings = await self._run([arm], plan, trace, vector, chunks=wanted)
        hits = [FusedHit(hit.chunk_id, hit.score, (mode,)) for hit in rankings[mode]]
        page = await self._page(hits, plan)
        rows = await self._rows(plan, page, chunks, rankings, [], None)
        return _answer(mode, plan, rows, trace, used=[mode], kind=kind)

    def _vector(
        self, plan: SearchPlan, trace: Trace, *, wanted: bool
    ) -> AbstractAsyncContextManager[QueryVector | None]:
        """The query's vector, begun before the collections are looked up."""
        return QueryVector(self._embedder, plan.text, trace) if wanted else nullcontext()

    def _hybrid_arms(self, plan: SearchPlan, trace: Trace) -> list[Arm]:
        arms: list[Arm] = [self._semantic, self._keyword]
        if plan.request.include_graph:
            if self._graph is not None:
                arms.append(self._graph)
            elif _asks_for_graph(plan):
                warn_of_no_graph(trace)
        return [arm for arm in arms if arm_weight(plan.fusion, arm.name) > 0]

    async def _run(
        self,
        arms: Sequence[Arm],
        plan: SearchPlan,
        trace: Trace,
        vector: QueryVector | None,
        chunks: dict[int, StoredChunk] | None = None,
    ) -> dict[ArmName, list[Hit]]:
        query = ArmQuery(
            text=plan.text,
            collections=plan.collections,
            filter=plan.filter,
            depth=plan.depth,
            min_score=plan.min_score,
            trace=trace,
            vector=vector,
            graph_asked=_asks_for_graph(plan),
            chunks=chunks,
            llm_linker=plan.linker == "llm",
        )
        return await run_arms(arms, query, self._settings.search_timeout_s)

    async def _page(self, hits: Sequence[FusedHit], plan: SearchPlan) -> Sequence[FusedHit]:
        if plan.request.group_by == "document" and hits:
            async with self._database.acquire() as connection:
                documents = await document_ids(connection, [hit.chunk_id for hit in hits])
            hits = first_of_each_document(hits, documents)
        return hits[plan.request.offset : plan.request.offset + plan.top_k]

    async def _rows(
        self,
        plan: SearchPlan,
        page: Sequence[FusedHit],
        loaded: Mapping[int, StoredChunk],
        rankings: Mapping[ArmName, Sequence[Hit]],
        fused: Sequence[FusedHit],
        reranked: Reranked | None,
    ) -> list[SearchRow]:
        missing = [hit for hit in page if hit.chunk_id not in loaded]
        chunks = {**loaded, **await self._load(missing, indexed=False)}
        explanation = None
        if plan.request.explain:
            scored = reranked.ranked.hits[: reranked.ranked.scored] if reranked else []
            explanation = explain(page, rankings, fused, scored)
        return make_rows(plan, page, chunks, explanation)

    async def _load(self, hits: Iterable[FusedHit], *, indexed: bool) -> dict[int, StoredChunk]:
        ids = [hit.chunk_id for hit in hits]
        if not ids:
            return {}
        async with self._database.acquire() as connection:
            return await load_chunks(connection, ids, indexed=indexed)


def _only_this_page(plan: SearchPlan) -> SearchPlan:
    """One arm's order does not depend on its depth, so nothing beyond the page is asked for.

    Grouping by document needs the rows that the groups swallow.
    """
    if plan.request.group_by is not None or plan.asks_for("candidates"):
        return plan
    return replace(plan, depth=plan.request.offset + plan.top_k)


def _rows_needed(plan: SearchPlan, *, reranked: bool) -> int | None:
    """How much of the fused ranking is looked at; None: all, as grouping swallows rows."""
    if plan.request.group_by is not None:
        return None
    page_end = plan.request.offset + plan.top_k
    return max(page_end, rerank_depth(plan.rerank_candidates, plan.top_k)) if reranked else page_end


def _asks_for_graph(plan: SearchPlan) -> bool:
    fusion = plan.request.fusion
    weighed = isinstance(fusion, WeightedFusion) and arm_weight(fusion, "graph") > 0
    return weighed or plan.asks_for("include_graph") or plan.asks_for("linker")


def _answer(
    mode: Mode,
    plan: SearchPlan,
    rows: list[SearchRow],
    trace: Trace,
    *,
    used: list[Retriever],
    kind: ScoreKind,
    by: str | None = None,
) -> SearchResponse:
    """The answer, counted and timed. Not validated: every value is ours."""
    total = trace.elapsed
    metrics.observe_search(mode, total)
    for stage, seconds in trace.seconds.items():
        metrics.observe_stage(stage, mode, seconds)
    for code in trace.failures:
        metrics.count_degraded(code)
    timings = {stage: round(seconds * 1000, 3) for stage, seconds in trace.seconds.items()}
    return SearchResponse.model_construct(
        query=plan.request.query,
        results=rows,
        total=len(rows),
        retrievers_used=used,
        score_kind=kind,
        reranker_used=by,
        warnings=trace.warnings,
        degraded=bool(trace.failures),
        timings_ms=Timings(**timings, total=round(total * 1000, 3)),
    )
