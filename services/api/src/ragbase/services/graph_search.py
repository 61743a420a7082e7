"""Graph search: names in the query → entities → their subgraph → the chunks that tell of them."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Sequence
from time import perf_counter
from typing import Self

from ragbase.errors import DeadlineExceededError, UnavailableError
from ragbase.graph.linking import PER_PHRASE, Phrase, link, words_of
from ragbase.graph.links import Linked
from ragbase.graph.neighbourhood import load_neighbourhood
from ragbase.graph.presence import GraphPresence
from ragbase.graph.store import CompileCondition
from ragbase.graph.subgraph import load_edges, load_nodes
from ragbase.graph.support import SupportedChunk, load_support, support_of
from ragbase.models.access import Access
from ragbase.models.domain import Collection
from ragbase.models.filters import MATCH_ALL, Filter, parse_filter
from ragbase.models.graph_search import GraphSearchRequest, GraphSearchResponse
from ragbase.retrieval.filters import compile_filter
from ragbase.retrieval.graph_arm import ranked_chunks
from ragbase.retrieval.query_names import QueryNames
from ragbase.retrieval.trace import Trace
from ragbase.services.graph_answer import GraphFindings, answer_of
from ragbase.services.graph_stores import GraphReading, GraphStores
from ragbase.services.known_collections import KnownCollections
from ragbase.services.search_plan import checked_query, named_collections
from ragbase.settings import Settings
from ragbase.storage.pool import Connection, Database
from ragbase.telemetry import metrics

__all__ = ["GraphSearchService"]

OFF = "The graph is off on this server (RAGBASE_GRAPH=false); the other searches work without it."


class GraphSearchService:
    """`POST /v1/search/graph`. Names, texts and chunks come from Postgres, where the graph is
    canonical; which nodes are near comes from the store that ``stores`` chooses."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        *,
        presence: GraphPresence,
        names: QueryNames,
        known: KnownCollections,
        stores: GraphStores,
    ) -> None:
        self._database = database
        self._stores = stores
        self._settings = settings
        self._presence = presence
        self._names = names
        self._known = known

    def seen_by(self, access: Access) -> Self:
        """The same, for a caller who may see only some collections."""
        bound = copy.copy(self)
        bound._known = self._known.seen_by(access)
        return bound

    async def search(self, request: GraphSearchRequest) -> GraphSearchResponse:
        """Entities, relations and chunks around what the query names; nothing found is no error.

        Raises `InvalidInputError`, `NotFoundError` for an unknown collection, `UnavailableError`
        where the graph is off or the database is down, `DeadlineExceededError` beyond the budget.
        """
        if not self._settings.graph_enabled:
            raise UnavailableError(OFF, code="graph_off")
        trace = Trace()
        query = checked_query(request, self._settings)
        node = parse_filter(request.filter) if request.filter is not None else MATCH_ALL
        collections = await named_collections(request, self._known)
        started = perf_counter()
        phrases = await self._phrases(request, query, trace)
        ner_s = perf_counter() - started
        reading = self._stores.begin()
        found = await self._within_budget(
            request, query, collections, None if node == MATCH_ALL else node, phrases, reading
        )
        reading.warn(trace)
        _count(trace, found)
        return answer_of(request, found, trace.warnings, total_s=trace.elapsed, ner_s=ner_s)

    async def _phrases(
        self, request: GraphSearchRequest, query: str, trace: Trace
    ) -> Sequence[Phrase]:
        if request.ner_labels and not self._names.has_ner:
            trace.warn(
                "ner_unavailable",
                "No NER server is configured (RAGBASE_NER_URL): names were looked up as they stand "
                "in the query, and ner_labels had no effect.",
                "graph",
            )
        by_llm = (request.linker or self._settings.graph_linker) == "llm"
        return await self._names.find(query, trace, labels=request.ner_labels or (), llm=by_llm)

    async def _within_budget(
        self,
        request: GraphSearchRequest,
        query: str,
        collections: Sequence[Collection],
        node: Filter | None,
        phrases: Sequence[Phrase],
        reading: GraphReading,
    ) -> GraphFindings:
        try:
            async with asyncio.timeout(self._settings.graph_timeout_s):
                return await self._find(request, query, collections, node, phrases, reading)
        except TimeoutError:
            raise DeadlineExceededError(
                "The graph did not answer within RAGBASE_GRAPH_TIMEOUT.", code="graph_timeout"
            ) from None

    async def _find(
        self,
        request: GraphSearchRequest,
        query: str,
        collections: Sequence[Collection],
        node: Filter | None,
        phrases: Sequence[Phrase],
        reading: GraphReading,
    ) -> GraphFindings:
        started = perf_counter()
        visible = [collection.id for collection in collections]
        async with self._database.acquire() as connection:
            linked = await link(
                connection,
                visible,
                words_of(query, collections),
                phrases,
                fuzzy=request.fuzzy and await self._presence.fuzzy(connection),
                max_phrases=request.max_entities,
                alike=PER_PHRASE,
            )
        filtered = _compiled(node)
        ids = await reading.expand(list(linked.seeds()), request.hops, filtered)
        async with self._database.acquire() as connection:
            nodes = await load_nodes(connection, ids, visible) if ids else []
            there = [one.id for one in nodes]
            edges = await load_edges(connection, there, filtered(2) if filtered else None)
            graph_s = perf_counter() - started
            chunks, scores = await _chunks(connection, request, linked, there, node)
        return GraphFindings(
            linked=linked,
            nodes=nodes,
            edges=edges,
            chunks=chunks,
            scores=scores,
            graph_s=graph_s,
            chunks_s=perf_counter() - started - graph_s,
        )


def _compiled(node: Filter | None) -> CompileCondition | None:
    """The filter as a condition on chunks, its parameters numbered as a statement needs them."""
    return None if node is None else lambda first: compile_filter(node, first=first)


async def _chunks(
    connection: Connection,
    request: GraphSearchRequest,
    linked: Linked,
    ids: Sequence[int],
    node: Filter | None,
) -> tuple[list[SupportedChunk], dict[int, float]]:
    """In the order asked for, with their scores: how many of the nodes they name, or the walk's."""
    limit = request.top_k_chunks
    if not ids:
        return [], {}
    if request.chunk_ranking == "support":
        chunks = await load_support(
            connection, ids, limit, compile_filter(node, first=3) if node else None
        )
        return chunks, {chunk.chunk_id: float(len(chunk.entities)) for chunk in chunks}
    around = await load_neighbourhood(
        connection, list(linked.seeds()), compile_filter(node, first=2) if node else None
    )
    hits = ranked_chunks(linked, around, limit) if around else []
    chunks = await support_of(connection, ids, [hit.chunk_id for hit in hits])
    return chunks, {hit.chunk_id: hit.score for hit in hits}


def _count(trace: Trace, found: GraphFindings) -> None:
    metrics.observe_search("graph", trace.elapsed)
    metrics.observe_stage("graph", "graph", found.graph_s + found.chunks_s)
    for code in trace.failures:
        metrics.count_degraded(code)
