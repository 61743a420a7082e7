"""The rerank stage of a search: whether, by which model, over what; and what if it fails."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ragbase.models.domain import StoredChunk
from ragbase.retrieval.fusion import FusedHit
from ragbase.retrieval.rerank import Ranked, rerank
from ragbase.retrieval.trace import Trace
from ragbase.services.named_reranker import NamedReranker
from ragbase.services.rerankers import Rerankers, Scores
from ragbase.services.search_arms import failure_code, failure_reason
from ragbase.services.search_plan import SearchPlan

__all__ = ["RerankStage", "RerankText", "Reranked"]

RerankText = Literal["indexed", "raw"]
"""What a reranker reads: the text that was indexed (header included), or the chunk alone."""


@dataclass(frozen=True, slots=True)
class Reranked:
    """A new order, and the name of the reranker that made it."""

    ranked: Ranked
    by: str


@dataclass(frozen=True, slots=True)
class RerankStage:
    """``timeout_s`` bounds the stage; None: the time budget of the reranker that was chosen."""

    rerankers: Rerankers
    text: RerankText = "indexed"
    timeout_s: float | None = None

    def choose(self, plan: SearchPlan, trace: Trace) -> NamedReranker | None:
        """The reranker of this search; warns where the request named one that cannot be had.

        Raises `InvalidInputError` for an unknown ``rerank_model``, also when ``rerank`` is false.
        """
        asked = plan.asks_for("rerank") or plan.asks_for("rerank_model")
        wanted = plan.request.rerank_model
        choice = self.rerankers.choose(wanted, asked=asked and plan.request.rerank)
        if not plan.request.rerank:
            return None
        if choice.reranker is None:
            if asked:
                message = f"The rows are in fused order. {choice.missing}"
                trace.warn("rerank_unavailable", message, "rerank")
            return None
        if choice.fallback:
            message = f"{wanted} is not configured; {choice.reranker.name} stands in for it."
            trace.warn("reranker_fallback", message, "rerank")
        return choice.reranker

    async def run(
        self,
        chosen: NamedReranker,
        plan: SearchPlan,
        fused: Sequence[FusedHit],
        chunks: Mapping[int, StoredChunk],
        trace: Trace,
    ) -> Reranked | None:
        """The new order of all fused rows; None when nobody could give it or there is no text."""
        texts = self._texts(chunks.values())
        if not texts:
            return None
        given: list[Scores] = []

        async def score(passages: Sequence[str]) -> Sequence[float]:
            within_s = self.timeout_s or chosen.timeout_s
            given.append(await self.rerankers.score(chosen, plan.text, passages, within_s=within_s))
            return given[0].values

        try:
            with trace.stage("rerank"):
                ranked = await rerank(score, fused, texts, min_score=plan.request.min_rerank_score)
        except Exception as error:  # noqa: BLE001 - no fault of a reranker may cost the rows
            trace.fail(
                failure_code("rerank", error),
                f"The reranker {chosen.name} did not answer; the rows are in fused order. "
                f"{failure_reason(error)}",
                "rerank",
            )
            return None
        return Reranked(ranked, _told(given[0], chosen, trace))

    def _texts(self, chunks: Iterable[StoredChunk]) -> dict[int, str]:
        return {
            chunk.id: chunk.indexed_content if self.text == "indexed" else chunk.content
            for chunk in chunks
            if chunk.content.strip()
        }


def _told(scores: Scores, chosen: NamedReranker, trace: Trace) -> str:
    """The name of who gave the scores; where it is not who was chosen, the answer says why."""
    if scores.failed:
        trace.fail(
            "reranker_fallback",
            f"The reranker {chosen.name} did not answer; {scores.by.name} stood in for it. "
            f"{failure_reason(scores.failed[0][1])}",
            "rerank",
        )
    return scores.by.name
