"""Search in the stored files: two vectors a chunk, a threshold on their sum, then a reranker."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Self

from ragbase.errors import NotFoundError, RagBaseError
from ragbase.limits import LOCALRAG
from ragbase.models.access import Access
from ragbase.models.filters import parse_filter
from ragbase.models.localrag import RetrieveIn
from ragbase.retrieval.dual import DualHit
from ragbase.retrieval.filters import compile_filter
from ragbase.services.known_collections import KnownCollections
from ragbase.services.localrag.file_model import FileModel
from ragbase.services.localrag.models import LocalModels, Score
from ragbase.services.localrag.notes import QUERY_CUT, Note
from ragbase.services.localrag.query import checked_query, rerank_candidates
from ragbase.storage.pool import Database
from ragbase.telemetry import metrics
from ragbase.text.clean import clean_text

__all__ = ["Found", "RetrieveService"]

MODE = "localrag"


@dataclass(frozen=True, slots=True)
class Found:
    """The chunks, best first; ``reranked[i]`` is of ``hits[i]``, None where nothing was reranked."""

    hits: list[DualHit]
    reranked: list[float] | None = None
    notes: list[Note] = field(default_factory=list)


class RetrieveService:
    """``reranker`` is the setting's; ``is_default``: nobody chose it."""

    def __init__(
        self,
        database: Database,
        models: LocalModels,
        model: FileModel,
        known: KnownCollections,
        *,
        reranker: str,
        is_default: bool,
        query_chars: int,
    ) -> None:
        self._database = database
        self._models = models
        self._model = model
        self._known = known
        self._reranker = reranker
        self._is_default = is_default
        self._query_chars = query_chars

    def seen_by(self, access: Access) -> Self:
        """The same, for another caller."""
        bound = copy.copy(self)
        bound._known = self._known.seen_by(access)
        return bound

    async def retrieve(self, body: RetrieveIn) -> Found:
        """The best chunks. Raises `InvalidInputError`, `NotFoundError` for a model that was named.

        A reranker that nobody named and that cannot be used leaves the order as it is, with a note.
        """
        started = perf_counter()
        query = checked_query(body.query, self._query_chars)
        folder_id = clean_text(body.folder_id, "folder_id") if body.folder_id else ""
        reranker, notes = await self._find_reranker(body)
        ready = await self._model.ready()
        notes = [*ready.notes, *notes]
        collections = await self._known.find([LOCALRAG])
        if not collections:
            return Found([], None, notes)
        vector, cut = await ready.embedder.embed_query(query)
        embedded = perf_counter()
        if cut:
            notes.append(QUERY_CUT)
        filtered = None
        if folder_id:
            filtered = compile_filter(parse_filter({"folder_id": {"eq": folder_id}}), first=3)
        hits = await ready.index.search(
            self._database,
            vector,
            collections[0].id,
            filtered=filtered,
            limit=body.top_k if reranker is None else rerank_candidates(body.top_k),
            threshold=body.threshold,
        )
        searched = perf_counter()
        metrics.observe_stage("embed", MODE, embedded - started)
        metrics.observe_stage("semantic", MODE, searched - embedded)
        found = Found(hits[: body.top_k], None, notes)
        if reranker is not None and hits:
            found = await self._reranked(reranker, query, hits, body, notes)
            metrics.observe_stage("rerank", MODE, perf_counter() - searched)
        metrics.observe_search(MODE, perf_counter() - started)
        return found

    async def _find_reranker(self, body: RetrieveIn) -> tuple[Score | None, list[Note]]:
        if not body.should_rerank:
            return None, []
        if body.reranker_model:
            return (await self._models.reranker(body.reranker_model)).model, []
        try:
            chosen = await self._models.reranker(self._reranker, default=self._is_default)
        except NotFoundError as error:
            return None, [Note("reranker_unavailable", error.message)]
        return chosen.model, [] if chosen.note is None else [chosen.note]

    async def _reranked(
        self,
        reranker: Score,
        query: str,
        hits: Sequence[DualHit],
        body: RetrieveIn,
        notes: list[Note],
    ) -> Found:
        try:
            scores = await reranker(query, [hit.content for hit in hits])
        except RagBaseError as error:
            if body.reranker_model:
                raise
            metrics.count_degraded("reranker_unavailable")
            note = Note("reranker_unavailable", error.message)
            return Found(list(hits[: body.top_k]), None, [*notes, note])
        # Scores are joined by place; equal ones stay in the order of `combined`.
        order = sorted(range(len(hits)), key=lambda place: -scores[place])[: body.top_k]
        return Found([hits[place] for place in order], [scores[place] for place in order], notes)
