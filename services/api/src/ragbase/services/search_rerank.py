"""The rerank stage of a search: whether, by which model, over what; and what if it fails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from ragbase.models.domain import StoredChunk
from ragbase.retrieval.fusion import FusedHit
from ragbase.retrieval.rerank import Ranked, Reranker, Rerankers, rerank
from ragbase.retrieval.trace import Trace
from ragbase.services.search_arms import failure_code, failure_reason, unexpected
from ragbase.services.search_plan import SearchPlan
from ragbase.telemetry.logs import get_logger

__all__ = ["RerankText", "choose_reranker", "try_rerank"]

RerankText = Literal["indexed", "raw"]
"""What a reranker reads: the text that was indexed (header included), or the chunk alone."""

_log = get_logger("ragbase.search")


def choose_reranker(plan: SearchPlan, rerankers: Rerankers, trace: Trace) -> Reranker | None:
    """The reranker of this search; warns where the request named one that cannot be had.

    Raises `InvalidInputError` for an unknown ``rerank_model``, also when ``rerank`` is false.
    """
    choice = rerankers.choose(plan.request.rerank_model)
    if not plan.request.rerank:
        return None
    if choice.reranker is None and (plan.asks_for("rerank") or plan.asks_for("rerank_model")):
        trace.warn(
            "rerank_unavailable",
            "No reranker is configured on this server; the rows are in fused order.",
            "rerank",
        )
    if choice.reranker is not None and choice.fallback:
        trace.warn(
            "reranker_fallback",
            f"{plan.request.rerank_model} is not configured; {choice.reranker.name} ordered the "
            "rows.",
            "rerank",
        )
    return choice.reranker


async def try_rerank(
    reranker: Reranker,
    plan: SearchPlan,
    fused: Sequence[FusedHit],
    chunks: Mapping[int, StoredChunk],
    trace: Trace,
    text: RerankText,
) -> Ranked | None:
    """The new order of all fused rows; None when the reranker failed or had nothing to read."""
    texts = {
        chunk.id: chunk.indexed_content if text == "indexed" else chunk.content
        for chunk in chunks.values()
        if chunk.content.strip()
    }
    if not texts:
        return None
    try:
        with trace.stage("rerank"):
            return await rerank(
                reranker, plan.text, fused, texts, min_score=plan.request.min_rerank_score
            )
    except Exception as error:  # noqa: BLE001 - no fault of a reranker may cost the rows
        code = failure_code("rerank", error)
        trace.fail(
            code,
            f"The reranker {reranker.name} did not answer; the rows are in fused order. "
            f"{failure_reason(error)}",
            "rerank",
        )
        _log.warning("rerank_failed", reranker=reranker.name, code=code, exc_info=unexpected(error))
        return None
