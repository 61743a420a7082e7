"""Reranking by text-embeddings-inference, or a server that speaks its ``POST /rerank``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from ragbase.clients.answers import RefusedError, TransientError, json_of, nothing
from ragbase.clients.batches import Batch, batches
from ragbase.clients.http import AsyncHttp, Endpoint
from ragbase.clients.permits import Permits
from ragbase.clients.remote import BATCHES_IN_FLIGHT, gathered, input_error
from ragbase.clients.reranker import RerankerInfo, checked_scores
from ragbase.clients.retry import RetryPolicy
from ragbase.clients.server_role import ServerRole
from ragbase.clients.tei_info import TeiInfo
from ragbase.clients.vectors import UnusableAnswerError
from ragbase.errors import DeadlineExceededError, RerankerUnavailableError, UpstreamError

__all__ = ["TeiReranker", "scores_in_order"]

BATCH = 32
"""TEI's own default; sidecars without ``/info`` have no limit."""
PERMITS = 512
CHARS_PER_TOKEN = 250
"""TEI looks at no more characters than this many times the model's limit; neither do we send more."""
PING_S = 4.0
SHORTEST = 256
"""Characters; a text that is refused as too large (413) is halved no further."""


@dataclass(frozen=True, slots=True)
class _Facts:
    """What the server says of itself; ``misfit``: why it must not be used, for people."""

    info: RerankerInfo
    batch: int = BATCH
    permits: int = PERMITS
    misfit: str = ""


class TeiReranker:
    """A `Reranker` over HTTP. The server is told to cut what its model cannot read.

    ``model`` "" takes what is served; with another model than ``model`` every call fails until the
    server has changed. ``batch`` None: as many texts a request as ``/info`` says, else 32; a server
    that refuses so many teaches a smaller number.
    """

    def __init__(
        self,
        url: str,
        role: ServerRole,
        *,
        api_key: str = "",
        model: str = "",
        timeout_s: float = 60.0,
        batch: int | None = None,
        retry: RetryPolicy | None = None,
    ) -> None:
        self._http = AsyncHttp(Endpoint.parse(url, api_key, role), timeout_s=timeout_s)
        self._role = role
        self._model = model
        self._most = batch
        self._policy = (retry or RetryPolicy()).for_queries(timeout_s)
        self._asked = False
        self._use(_Facts(RerankerInfo(model or "unknown")))

    def _use(self, facts: _Facts) -> None:
        self._facts = facts
        share = max(1, min(facts.permits // 2, BATCHES_IN_FLIGHT * facts.batch))
        self._permits = Permits(share)
        self._batch = min(facts.batch, self._most or facts.batch, share)

    async def info(self) -> RerankerInfo:
        """Facts about the model; asks the server where they are not known yet."""
        if not self._asked:
            with _translated():
                await self._learn()
        return self._facts.info

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """One score a text, 0…1, in order. See `Reranker.score`."""
        if self._facts.misfit:
            raise RerankerUnavailableError(self._facts.misfit)
        limit = self._facts.info.max_tokens
        if limit is not None:
            texts = [text[: CHARS_PER_TOKEN * limit] for text in texts]
        with _translated():
            parts = await gathered(
                [self._score_halving(query, batch) for batch in batches(texts, self._batch)]
            )
        return [score for part in parts for score in part]

    async def ping(self) -> None:
        """Return when the server is well and serves the model it should."""
        with _translated():
            await self._http.call("GET", "health", read=nothing, policy=RetryPolicy.once(PING_S))
            await self._learn()
        if self._facts.misfit:
            raise RerankerUnavailableError(self._facts.misfit)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def _learn(self) -> None:
        """Ask for ``/info``; what a refusal taught holds until the server says otherwise."""
        try:
            told = await self._http.call(
                "GET", "info", read=TeiInfo.read, policy=RetryPolicy.once(PING_S)
            )
            facts = self._read(told)
        except (RefusedError, UnusableAnswerError) as error:
            if isinstance(error, RefusedError) and error.http_status in (401, 403):
                raise
            facts = _Facts(RerankerInfo(self._model or "unknown"))  # a sidecar has no /info
        self._asked = True
        if facts != self._facts:
            self._use(facts)

    def _read(self, told: TeiInfo) -> _Facts:
        names = dict.fromkeys(filter(None, (told.model_id, told.served_model_name)))
        served = " also called ".join(names)
        misfit = ""
        if told.model_type is not None and "reranker" not in told.model_type:
            misfit = f"The {self._role.what} serves {served}, which is no reranker."
        elif self._model and not any(map(partial(_same, self._model), names)):
            misfit = f"The {self._role.what} should serve {self._model}, but serves {served}."
        return _Facts(
            RerankerInfo(told.model_id, told.max_input_length),
            told.max_client_batch_size,
            told.max_concurrent_requests,
            misfit,
        )

    async def _score_halving(self, query: str, batch: Batch) -> list[float]:
        """``batch`` as one request or, where the server finds it too large, as two, and so on."""
        try:
            async with self._permits.take(len(batch.texts)):
                return await self._score(query, batch)
        except RefusedError as refusal:
            if refusal.by_size and len(batch.texts) > 1:
                too_many = refusal.http_status == 422
            elif refusal.http_status == 413 and len(batch.texts[0]) > SHORTEST:
                half = batch.texts[0][: len(batch.texts[0]) // 2]
                return await self._score_halving(query, Batch(batch.first, [half]))
            else:
                raise input_error(refusal, batch.first, by_size=None) from None
        halves = [await self._score_halving(query, half) for half in batch.halves()]
        if too_many:  # both halves passed, so it was their number
            self._batch = min(self._batch, len(halves[1]))
        return [score for half in halves for score in half]

    async def _score(self, query: str, batch: Batch) -> list[float]:
        return await self._http.call(
            "POST",
            "rerank",
            {"query": query, "texts": batch.texts, "raw_scores": False, "truncate": True},
            read=lambda answer: scores_in_order(json_of(answer), len(batch.texts), self._role.what),
            policy=self._policy,
        )


def scores_in_order(raw: Any, count: int, who: str) -> list[float]:
    """Scores of TEI's ``[{index, score}, …]`` (best first) in the order of the texts.

    Raises `UnusableAnswerError` where an index is missing, doubled or beyond the texts, or a score
    is no number in 0…1.
    """
    if not isinstance(raw, list) or not all(isinstance(row, dict) for row in raw):
        raise UnusableAnswerError(f"The {who} sent no list of scores.")
    found: dict[int, object] = {}
    for row in raw:
        index = row.get("index")
        if type(index) is not int or not 0 <= index < count:
            raise UnusableAnswerError(f"The {who} scored a text that was not sent.")
        if index in found:
            raise UnusableAnswerError(f"The {who} scored text {index} twice.")
        found[index] = row.get("score")
    if len(found) != count:
        raise UnusableAnswerError(f"The {who} sent {len(found)} scores for {count} texts.")
    try:
        return checked_scores([found[index] for index in range(count)], count, who)
    except UpstreamError as error:
        raise UnusableAnswerError(error.message) from None


@contextmanager
def _translated() -> Iterator[None]:
    """What the shared HTTP core calls an absent embedder is an absent reranker here."""
    try:
        yield
    except TransientError as error:
        if error.late:
            raise DeadlineExceededError(error.message, code="rerank_timeout") from None
        raise RerankerUnavailableError(error.message, http_status=error.http_status) from None


def _same(one: str, other: str) -> bool:
    return one.casefold().rstrip("/") == other.casefold().rstrip("/")
