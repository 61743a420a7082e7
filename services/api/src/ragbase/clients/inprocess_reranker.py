"""The reranker of this process: a cross-encoder, on the CPU unless torch finds a GPU."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from functools import partial
from typing import TypeVar, cast

from ragbase.clients.reranker import RerankerInfo, checked_scores
from ragbase.errors import (
    ConfigurationError,
    RerankerUnavailableError,
    UpstreamError,
)
from ragbase_inference.backends.open import AnyModel, is_at_hand, open_model
from ragbase_inference.batcher import Batcher
from ragbase_inference.daemon_thread import in_daemon_thread
from ragbase_inference.embedder import BATCH_PADDING
from ragbase_inference.errors import (
    ClosedError,
    ModelFailedError,
    ModelUnavailableError,
    NotFiniteError,
)
from ragbase_inference.finite import check_finite
from ragbase_inference.kinds import PairModel
from ragbase_inference.scores import sigmoid
from ragbase_inference.tokens import Encoded

__all__ = ["InProcessReranker", "open_inprocess_reranker", "reranker_is_at_hand"]

Answer = TypeVar("Answer")

_WAITING = 4096
"""Pairs that wait at most; a call of `InProcessReranker.score` waits for room."""
_HOW_TO_GET_ONE = (
    "Name a folder with a cross-encoder's files, or a model of the Hugging Face hub such as "
    "cross-encoder/ms-marco-MiniLM-L6-v2 on a machine that reaches it; or give the url of a server."
)


async def reranker_is_at_hand(model: str) -> bool:
    """Whether `open_inprocess_reranker` would find ``model`` on this machine, without a request.

    False too where what is here cannot be run: opening it says why.
    """
    try:
        return await asyncio.to_thread(is_at_hand, model)
    except ModelUnavailableError:
        return False


async def open_inprocess_reranker(model: str, *, threads: int = 0) -> InProcessReranker:
    """Load ``model`` (a folder or a Hugging Face id) off the event loop; may have to fetch it.

    ``threads`` = 0 takes all usable cores. Raises `ConfigurationError` where it cannot be had, or
    is no reranker: the message says what to do.
    """
    try:
        opened = await in_daemon_thread(partial(open_model, model, threads=threads))
    except ModelUnavailableError as error:
        raise ConfigurationError(f"The reranker {model}: {error}. {_HOW_TO_GET_ONE}") from error
    return InProcessReranker(_reranker(model, opened))


def _reranker(model: str, opened: AnyModel) -> PairModel:
    if opened.facts.kind != "reranker":
        opened.close()
        raise ConfigurationError(
            f"{model} is no reranker but of the kind {opened.facts.kind}. {_HOW_TO_GET_ONE}"
        )
    return cast("PairModel", opened)


class InProcessReranker:
    """A `Reranker` around a loaded cross-encoder; calls at once share its batches fairly."""

    def __init__(self, model: PairModel) -> None:
        self._model = model
        facts = model.facts
        self._batcher = Batcher[Encoded, float](
            self._logits,
            cost=len,
            max_cost=facts.batch_tokens,
            max_padding=BATCH_PADDING if facts.device == "cpu" else None,
            max_waiting=_WAITING,
            name="rerank",
        )

    def _logits(self, batch: Sequence[Encoded]) -> list[float]:
        logits: list[float] = check_finite(self._model.logits(batch))[:, 0].tolist()
        return logits

    async def info(self) -> RerankerInfo:
        """Facts about the loaded model."""
        return RerankerInfo(self._model.facts.model, self._model.facts.max_tokens)

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Sigmoid of the logit of each text, in order; a pair too long loses of its longer text."""
        pairs = [(query, text) for text in texts]
        encoded = await asyncio.to_thread(self._model.encode_pairs, pairs, cut="right")
        logits = await _translated(self._batcher.submit_all(encoded))
        return checked_scores(sigmoid(logits).tolist(), len(texts), "reranker")

    async def ping(self) -> None:
        """Return when the reranker can answer now, else raise as `score` does."""
        await self.score("ping", ["pong"])

    async def aclose(self) -> None:
        """Stop the queue, release the model."""
        await self._batcher.aclose()
        await asyncio.to_thread(self._model.close)


async def _translated(work: Awaitable[Answer]) -> Answer:
    """Await ``work``; errors of the inference package become the product's."""
    try:
        return await work
    except ClosedError as error:
        raise RerankerUnavailableError("The reranker is closed.") from error
    except NotFiniteError as error:
        raise UpstreamError("The reranker gave scores that are not finite.") from error
    except ModelFailedError as error:
        raise RerankerUnavailableError("The reranker failed on these texts.") from error
