"""The graph arm: chunks near the entities that a query names, by personalised PageRank.

How much the arm counts in fusion is gated (`ragbase.retrieval.graph_gate`): it helps questions that
name things, and must not touch the others. See ``docs/adr/0030-graph-arm.md``.
"""

from __future__ import annotations

import asyncio

import numpy as np

from ragbase.graph.linking import link, words_of
from ragbase.graph.links import Linked
from ragbase.graph.neighbourhood import Neighbourhood, load_neighbourhood
from ragbase.graph.pagerank import chunk_scores
from ragbase.graph.presence import GraphPresence
from ragbase.models.domain import ArmName, Hit
from ragbase.retrieval.arms import ArmAbsent, ArmQuery
from ragbase.retrieval.filters import compile_filter
from ragbase.retrieval.graph_gate import gate
from ragbase.retrieval.query_names import QueryNames
from ragbase.retrieval.trace import Trace
from ragbase.storage.pool import Database

__all__ = ["GraphArm", "ranked_chunks", "warn_of_no_graph"]


class GraphArm:
    """Ranks chunks by a walk from the query's entities; see `ragbase.retrieval.arms.Arm`.

    ``timeout_s`` bounds linking and the walk; models that find names have budgets of their own.
    """

    name: ArmName = "graph"

    def __init__(
        self, database: Database, presence: GraphPresence, names: QueryNames, timeout_s: float
    ) -> None:
        self._database = database
        self._presence = presence
        self._names = names
        self._timeout_s = timeout_s

    async def retrieve(self, query: ArmQuery) -> list[Hit]:
        """See `Arm.retrieve`. A query that names no entity gives no hits; how much the hits of one
        that does should count goes to ``query.trace.gates``.

        Raises `ArmAbsent` where the collections have no entities, `TimeoutError` beyond the budget.
        """
        query.trace.gates["graph"] = 0.0
        with_graph = await self._presence.among(query.collection_ids)
        if not with_graph:
            if query.graph_asked:
                warn_of_no_graph(query.trace, "the searched collections have no entities")
            raise ArmAbsent
        with query.trace.stage("graph"):
            phrases = await self._names.find(query.text, query.trace, llm=query.llm_linker)
            async with asyncio.timeout(self._timeout_s):
                words = words_of(query.text, query.collections)
                condition = compile_filter(query.filter, first=2) if query.filter else None
                async with self._database.acquire() as connection:
                    fuzzy = await self._presence.fuzzy(connection)
                    linked = await link(connection, with_graph, words, phrases, fuzzy=fuzzy)
                    seeds = linked.seeds()
                    around = (
                        await load_neighbourhood(connection, list(seeds), condition)
                        if seeds
                        else None
                    )
            if around is None:
                return []
            query.trace.gates["graph"] = gate(linked, around)
            return ranked_chunks(linked, around, query.depth)


def ranked_chunks(linked: Linked, around: Neighbourhood, depth: int) -> list[Hit]:
    """The chunks that the walk reaches, by score, then chunk id; at most ``depth``.

    A score is the square root of the share of the walk that a chunk gets: shares fall so fast that
    fusion would hear of the first few chunks only.
    """
    scores = np.sqrt(chunk_scores(around.graph, around.restart(linked.seeds())))
    order = np.lexsort((around.chunk_ids, -scores))[:depth]
    return [Hit(int(around.chunk_ids[at]), float(scores[at])) for at in order if scores[at] > 0.0]


def warn_of_no_graph(trace: Trace, reason: str = "no graph is configured on this server") -> None:
    """Say that the search went without a graph, though it was asked for one."""
    trace.warn("graph_unavailable", f"The other arms answered: {reason}.", "graph")
