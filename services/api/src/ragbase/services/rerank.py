"""Reranking of a caller's own texts (contract §8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragbase.errors import InvalidInputError, TooLargeError, UnavailableError
from ragbase.models.rerank import RerankRequest, RerankResponse, RerankResult
from ragbase.models.search import SearchWarning
from ragbase.services.named_reranker import NamedReranker
from ragbase.services.rerankers import Choice, Rerankers, Scores
from ragbase.services.search_arms import failure_reason
from ragbase.text.clean import clean_text

__all__ = ["RerankLimits", "RerankService"]


@dataclass(frozen=True, slots=True)
class RerankLimits:
    """Most texts of a request, and most characters of its query and of each text."""

    texts: int
    query_chars: int
    text_chars: int


@dataclass(frozen=True, slots=True)
class RerankService:
    """The route `/v1/rerank`."""

    rerankers: Rerankers
    limits: RerankLimits

    async def rerank(self, request: RerankRequest) -> RerankResponse:
        """All texts of the request, best first.

        Raises `InvalidInputError`, `UnavailableError` where there is no reranker or it does not
        answer, and `UpstreamError` where what it answers is of no use.
        """
        query, texts = self._checked(request)
        choice = self.rerankers.choose(request.rerank_model)
        if choice.reranker is None:
            raise UnavailableError("Reranker is disabled", code="reranker_disabled")
        given = await self._score(choice.reranker, query, texts)
        return RerankResponse(
            results=_best_first(request, given.values),
            model=await given.by.model(),
            reranker_used=given.by.name,
            warnings=_warnings(request, choice, given),
        )

    async def _score(self, chosen: NamedReranker, query: str, texts: Sequence[str]) -> Scores:
        """Scores of all texts; blank ones are not sent, because servers refuse them."""
        sent = [text for text in texts if text.strip()]
        if not sent:
            return Scores([0.0] * len(texts), chosen)
        given = await self.rerankers.score(chosen, query, sent, within_s=chosen.timeout_s)
        values = iter(given.values)
        return replace(given, values=[next(values) if text.strip() else 0.0 for text in texts])

    def _checked(self, request: RerankRequest) -> tuple[str, list[str]]:
        limits = self.limits
        if len(request.texts) > limits.texts:
            raise InvalidInputError(
                f"texts has {len(request.texts)} items; at most {limits.texts} are taken "
                "(RAGBASE_MAX_BATCH).",
                code="batch_too_large",
                field="texts",
            )
        if len(request.query) > limits.query_chars:
            raise InvalidInputError(
                f"query has {len(request.query)} characters; at most {limits.query_chars} are "
                "taken (RAGBASE_MAX_QUERY_CHARS).",
                code="query_too_long",
                field="query",
            )
        for index, text in enumerate(request.texts):
            if len(text) > limits.text_chars:
                raise TooLargeError(
                    f"texts.{index} has {len(text)} characters; at most {limits.text_chars} are "
                    "taken (RAGBASE_MAX_TEXT_CHARS).",
                    code="text_too_long",
                    field=f"texts.{index}",
                )
        texts = [clean_text(text, f"texts.{index}") for index, text in enumerate(request.texts)]
        return clean_text(request.query, "query"), texts


def _best_first(request: RerankRequest, values: Sequence[float]) -> list[RerankResult]:
    order = sorted(range(len(values)), key=lambda index: -values[index])
    return [
        RerankResult(
            index=index,
            score=values[index],
            text=request.texts[index] if request.return_text else None,
        )
        for index in order
    ]


def _warnings(request: RerankRequest, choice: Choice, given: Scores) -> list[SearchWarning]:
    """Why another reranker than the one asked for gave the scores."""
    reasons = []
    if choice.fallback:
        reasons.append(f"{request.rerank_model} is not configured")
    reasons += [
        f"{failed.name} did not answer ({failure_reason(error)})" for failed, error in given.failed
    ]
    return [
        SearchWarning(
            code="reranker_fallback",
            message=f"{reason}; {given.by.name} stood in for it.",
            stage="rerank",
        )
        for reason in reasons
    ]
