"""One evaluation from end to end: load the corpus, ask in every mode, take away what was made."""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from ragbase.evaluation.ablation import HEADER_FAMILY, without_headings
from ragbase.evaluation.bootstrap import Difference, paired_difference
from ragbase.evaluation.dataset import Dataset, JudgedDocument, Split
from ragbase.evaluation.graph import wait_for_graph
from ragbase.evaluation.quality import (
    EvalMode,
    ModeResult,
    base_modes,
    graph_modes,
    rerank_mode,
    run_mode,
)
from ragbase.sdk import ApiError, AsyncClient
from ragbase.sdk.upload import Draft, Source, Tally, upload

__all__ = [
    "Evaluation",
    "ModeDifference",
    "Plan",
    "Progress",
    "ServerFacts",
    "evaluate",
    "loaded_collection",
]

TITLE_WORDS = 8
COMPARED = "nDCG@10"
Progress = Callable[[str, int, int], None]
"""Called with a step's name, how much of it is done, and how much there is."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to evaluate and how. ``collection`` None: a scratch one, deleted unless ``keep``."""

    dataset: Dataset
    split: Split = "all"
    collection: str | None = None
    keep: bool = False
    language: str | None = None
    fusion: Mapping[str, Any] | None = None
    jobs: int = 4
    concurrency: int = 1


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What answered: version, keyword dialect, models."""

    version: str
    lexical: str
    embedding_model: str | None
    reranker: str | None

    @classmethod
    async def ask(cls, client: AsyncClient) -> ServerFacts:
        """Read them from the health routes."""
        health = await client.health()
        models = await client.health_models()
        embedding = (models.embedding or {}).get("model_id")
        reranker = models.reranker.get("model_id") if isinstance(models.reranker, dict) else None
        return cls(health.version, health.lexical, embedding, reranker)


@dataclass(frozen=True, slots=True)
class ModeDifference:
    """How much better ``mode`` is than ``against``, by split, with paired bootstrap intervals."""

    mode: str
    against: str
    measure: str
    splits: Mapping[Split, Difference]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All figures of one evaluation; ``ablation`` holds those without headings, by mode."""

    plan: Plan
    server: ServerFacts
    collection: str
    ingest: Tally
    ingest_seconds: float
    modes: tuple[ModeResult, ...]
    ablation: Mapping[str, ModeResult] = field(default_factory=dict)

    def differences(self) -> list[ModeDifference]:
        """What each addition to hybrid search (``hybrid+…``) gives, in nDCG@10, by split."""
        by_name = {mode.name: mode for mode in self.modes}
        return [
            ModeDifference(
                mode.name,
                "hybrid",
                COMPARED,
                {
                    split: paired_difference(
                        mode.per_query,
                        by_name["hybrid"].per_query,
                        [query.id for query in self.plan.dataset.select(split)],
                        COMPARED,
                    )
                    for split in mode.splits
                },
            )
            for mode in self.modes
            if mode.name.startswith("hybrid+")
        ]

    @property
    def failed(self) -> int:
        """Documents not stored and queries not answered."""
        runs = [*self.modes, *self.ablation.values()]
        return len(self.ingest.failures) + sum(len(run.failures) for run in runs)


async def evaluate(client: AsyncClient, plan: Plan, progress: Progress) -> Evaluation:
    """Run the plan. Raises what the client raises; a scratch collection goes in any case."""
    server = await ServerFacts.ask(client)
    modes = base_modes(plan.fusion)
    if server.reranker is not None:
        modes.append(rerank_mode(plan.fusion))
    async with loaded_collection(client, plan, plan.dataset.documents, progress) as loaded:
        asked = [*modes]
        if await wait_for_graph(client, loaded.name, progress):
            asked += graph_modes(plan.fusion)
        results = [await _ask_all(client, plan, mode, loaded.name, progress) for mode in asked]
    return Evaluation(
        plan=plan,
        server=server,
        collection=loaded.name,
        ingest=loaded.tally,
        ingest_seconds=loaded.seconds,
        modes=tuple(results),
        ablation=await _ablation(client, plan, modes, progress),
    )


@dataclass(frozen=True, slots=True)
class Loaded:
    """A collection that holds the corpus."""

    name: str
    tally: Tally
    seconds: float


@asynccontextmanager
async def loaded_collection(
    client: AsyncClient,
    plan: Plan,
    documents: Iterable[JudgedDocument],
    progress: Progress,
    *,
    step: str = "ingest",
) -> AsyncIterator[Loaded]:
    """A collection with ``documents`` in it; one made for the occasion is deleted at the end."""
    name = plan.collection or f"eval-{secrets.token_hex(6)}"
    sources = [_source(document) for document in documents]
    await _make(client, name, plan)
    started = time.perf_counter()
    try:
        tally = await upload(
            client,
            sources,
            collection=name,
            jobs=plan.jobs,
            on_done=lambda tally: progress(step, tally.done, len(sources)),
        )
        yield Loaded(name, tally, time.perf_counter() - started)
    finally:
        if plan.collection is None and not plan.keep:
            await client.collections.delete(name)


async def _make(client: AsyncClient, name: str, plan: Plan) -> None:
    try:
        if plan.language is None:
            await client.collections.create(name)
        else:
            await client.collections.create(name, language=plan.language)
    except ApiError as error:
        if error.status != 409 or plan.collection is None:
            raise


async def _ask_all(
    client: AsyncClient,
    plan: Plan,
    mode: EvalMode,
    collection: str,
    progress: Progress,
    *,
    step: str = "",
) -> ModeResult:
    total = len(plan.dataset.select(plan.split))
    asked = 0

    def count() -> None:
        nonlocal asked
        asked += 1
        progress(step or mode.name, asked, total)

    return await run_mode(
        client,
        plan.dataset,
        mode,
        collection=collection,
        split=plan.split,
        concurrency=plan.concurrency,
        on_query=count,
    )


async def _ablation(
    client: AsyncClient, plan: Plan, modes: Iterable[EvalMode], progress: Progress
) -> dict[str, ModeResult]:
    """The header-path queries again, over the same corpus without heading lines."""
    queries = tuple(query for query in plan.dataset.queries if query.family == HEADER_FAMILY)
    dataset = replace(plan.dataset, queries=queries)
    if not dataset.select(plan.split):
        return {}
    bare = replace(plan, dataset=dataset, collection=None, keep=False)
    documents = without_headings(plan.dataset.documents)
    async with loaded_collection(client, bare, documents, progress, step="no headings") as loaded:
        return {
            mode.name: await _ask_all(
                client, bare, mode, loaded.name, progress, step=f"no headings: {mode.name}"
            )
            for mode in modes
        }


def _source(document: JudgedDocument) -> Source:
    title = document.title if document.title.strip() else _first_words(document.text)
    draft = Draft(document.id, title, document.text, document.metadata)
    return Source(document.id, lambda: draft)


def _first_words(text: str) -> str:
    """A title for a document that has none: how its text begins."""
    return " ".join(text.split()[:TITLE_WORDS])[:80]
