"""Asks a live API every query of a dataset, mode by mode, and scores what comes back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragbase.evaluation.dataset import Dataset, JudgedQuery, Split
from ragbase.evaluation.latency import Latency
from ragbase.evaluation.measures import Scores, average, document_ranking, score_queries
from ragbase.sdk import ApiError, AsyncClient, Mode, SearchOptions, TimedOutError

__all__ = [
    "EvalMode",
    "ModeResult",
    "SplitResult",
    "base_modes",
    "graph_modes",
    "rerank_mode",
    "run_mode",
]

TOP_K = 50
"""Chunk rows asked for: deep enough for R@50 of short documents."""


@dataclass(frozen=True, slots=True)
class EvalMode:
    """A way to search, and its name in the table."""

    name: str
    mode: Mode
    options: SearchOptions


@dataclass(frozen=True, slots=True)
class SplitResult:
    """Mean measures over the queries of one split, and of each family in it."""

    queries: int
    measures: Scores
    families: Mapping[str, SplitResult] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ModeResult:
    """One mode's figures. A failed query scores 0 and has no part in the latency."""

    name: str
    per_query: Mapping[str, Scores]
    splits: Mapping[Split, SplitResult]
    latency: Latency
    failures: Mapping[str, str]
    degraded: int


def base_modes(fusion: Mapping[str, Any] | None = None) -> list[EvalMode]:
    """Each arm alone, then both fused; no reranker, no graph. ``fusion`` is the hybrid's."""
    plain: SearchOptions = {"top_k": TOP_K, "rerank": False, "include_graph": False}
    hybrid: SearchOptions = {**plain, "fusion": fusion} if fusion else plain
    return [
        EvalMode("keyword", "keyword", plain),
        EvalMode("semantic", "semantic", plain),
        EvalMode("hybrid", "hybrid", hybrid),
    ]


def rerank_mode(fusion: Mapping[str, Any] | None = None) -> EvalMode:
    """Hybrid, reordered by the server's reranker."""
    hybrid = base_modes(fusion)[-1]
    return EvalMode("hybrid+rerank", "hybrid", {**hybrid.options, "rerank": True})


def graph_modes(fusion: Mapping[str, Any] | None = None) -> list[EvalMode]:
    """The graph arm alone, and hybrid with it."""
    hybrid = base_modes(fusion)[-1]
    with_graph: SearchOptions = {**hybrid.options, "include_graph": True}
    alone: SearchOptions = {
        **with_graph,
        "fusion": {"method": "weighted", "weights": {"graph": 1.0}},
    }
    return [
        EvalMode("graph", "hybrid", alone),
        EvalMode("hybrid+graph", "hybrid", with_graph),
    ]


async def run_mode(
    client: AsyncClient,
    dataset: Dataset,
    mode: EvalMode,
    *,
    collection: str,
    split: Split = "all",
    concurrency: int = 1,
    on_query: Callable[[], None] = lambda: None,
) -> ModeResult:
    """Ask all queries of ``split`` and score them; all three splits are reported for ``all``."""
    asked = _Asked()
    queries = iter(dataset.select(split))

    async def work() -> None:
        for query in queries:
            await _ask(client, query, mode, collection, asked)
            on_query()

    async with asyncio.TaskGroup() as group:
        for _ in range(concurrency):
            group.create_task(work())
    return _result(mode.name, dataset, split, asked)


@dataclass(slots=True)
class _Asked:
    rankings: dict[str, list[str]] = field(default_factory=dict)
    milliseconds: list[float] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    degraded: int = 0


async def _ask(
    client: AsyncClient, query: JudgedQuery, mode: EvalMode, collection: str, asked: _Asked
) -> None:
    options: SearchOptions = {**mode.options, "collection": collection}
    started = time.perf_counter()
    try:
        answer = await client.search(query.text, mode=mode.mode, **options)
    except (ApiError, TimedOutError) as error:
        asked.failures[query.id] = error.message
        asked.rankings[query.id] = []
        return
    asked.milliseconds.append((time.perf_counter() - started) * 1000)
    asked.degraded += answer.degraded
    asked.rankings[query.id] = document_ranking(
        row.external_id for row in answer.results if row.external_id is not None
    )


def _result(name: str, dataset: Dataset, split: Split, asked: _Asked) -> ModeResult:
    scores = score_queries(asked.rankings, dataset.qrels)
    reported: tuple[Split, ...] = ("all", "even", "odd") if split == "all" else (split,)
    return ModeResult(
        name=name,
        per_query=scores,
        splits={part: _split_result(dataset.select(part), scores) for part in reported},
        latency=Latency.of(asked.milliseconds),
        failures=asked.failures,
        degraded=asked.degraded,
    )


def _split_result(queries: Sequence[JudgedQuery], scores: Mapping[str, Scores]) -> SplitResult:
    families = dict.fromkeys(query.family for query in queries if query.family)
    return SplitResult(
        queries=len(queries),
        measures=average(scores[query.id] for query in queries),
        families={family: _split_result_of_family(queries, scores, family) for family in families},
    )


def _split_result_of_family(
    queries: Sequence[JudgedQuery], scores: Mapping[str, Scores], family: str
) -> SplitResult:
    members = [query for query in queries if query.family == family]
    return SplitResult(len(members), average(scores[query.id] for query in members))
