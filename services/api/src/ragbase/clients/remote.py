"""What the embedders behind HTTP share: facts asked once, batches, permits, halving."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from ragbase.clients.answers import RefusedError
from ragbase.clients.batches import Batch, batches
from ragbase.clients.embedder import EmbedderInfo, Tokenizer
from ragbase.clients.permits import Permits
from ragbase.clients.prefixes import Prefixes
from ragbase.clients.retry import RetryPolicy
from ragbase.errors import InvalidInputError, TooLargeError
from ragbase.models.domain import Vector, Vectors

__all__ = ["Gates", "RemoteEmbedder", "ServerFacts", "gathered", "input_error"]

T = TypeVar("T")

BATCHES_IN_FLIGHT = 4
"""One being computed, one waiting in the server, and two on the wire: more only makes the queue
longer in which a search's query waits."""
BLANK = " "
"""Sent in place of an empty text: servers refuse "", and a model sees the same tokens."""


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What the server says of itself: ``batch`` inputs a request, ``permits`` inputs at once."""

    info: EmbedderInfo
    batch: int
    permits: int
    prefixes: Prefixes


class Gates:
    """Permits of passages and of queries, apart so that ingest cannot hold up a search.

    Together they stay below the server's own, which other clients use as well.
    """

    def __init__(self, facts: ServerFacts) -> None:
        share = min(facts.permits // 2, BATCHES_IN_FLIGHT * facts.batch)
        self.passages = Permits(max(1, share))
        self.queries = self.passages if facts.permits < 2 else Permits(max(1, facts.permits // 4))
        self.batch = min(facts.batch, self.passages.total)


class RemoteEmbedder(ABC):
    """An `Embedder` whose model answers over HTTP.

    A subclass says how to learn the facts (`_ask`) and how to embed one request (`_embed`).
    """

    def __init__(self, *, timeout_s: float, retry: RetryPolicy | None) -> None:
        self._retry = retry or RetryPolicy()
        self._hurry = self._retry.for_queries(timeout_s)
        self._state: tuple[ServerFacts, Gates] | None = None
        self._asking: asyncio.Task[tuple[ServerFacts, Gates]] | None = None

    @property
    @abstractmethod
    def tokenizer(self) -> Tokenizer:
        """Counts as the model does."""

    @abstractmethod
    async def _ask(self) -> ServerFacts:
        """Ask the server for its facts and check them."""

    @abstractmethod
    async def _embed(
        self, batch: Batch, *, cut: bool, policy: RetryPolicy, dimension: int | None
    ) -> Vectors:
        """One request with retries; ``cut``: the server may truncate. May raise `RefusedError`.

        Rows of another ``dimension`` than this (None: any) are an `UnusableAnswerError`.
        """

    async def info(self) -> EmbedderInfo:
        """Facts about the model; asks the server on the first call, then remembers."""
        facts, _ = await self._known()
        return facts.info

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """One row a text, in order; a text over the model's limit is an `InvalidInputError`."""
        facts, _ = await self._known()
        return await self._embed_all([facts.prefixes.passage + text for text in texts], cut=False)

    async def embed_texts(self, texts: Sequence[str]) -> Vectors:
        """As `embed_passages`, without any prefix; long texts are cut."""
        return await self._embed_all(texts, cut=True)

    @abstractmethod
    async def embed_query(self, text: str) -> tuple[Vector, bool]:
        """The query's vector, and whether the text was cut to the model's limit."""

    async def _known(self) -> tuple[ServerFacts, Gates]:
        """Facts and gates; callers that come while the server is asked share its one answer."""
        if self._state is not None:
            return self._state
        if self._asking is None:
            self._asking = asyncio.create_task(self._learn())
            self._asking.add_done_callback(self._asked)
        return await asyncio.shield(self._asking)

    async def _learn(self) -> tuple[ServerFacts, Gates]:
        facts = await self._ask()
        self._state = facts, Gates(facts)
        return self._state

    def _asked(self, task: asyncio.Task[tuple[ServerFacts, Gates]]) -> None:
        self._asking = None  # a failure is not remembered: the next call asks again
        if not task.cancelled():
            task.exception()  # counts as seen although all who waited may have left

    async def aclose(self) -> None:
        """Stop asking; subclasses close their connections."""
        if self._asking is not None:
            self._asking.cancel()

    async def _embed_all(self, texts: Sequence[str], *, cut: bool) -> Vectors:
        facts, gates = await self._known()
        full = [text or BLANK for text in texts]
        parts = await gathered(
            [self._embed_halving(batch, cut=cut) for batch in batches(full, gates.batch)]
        )
        return np.concatenate([np.empty((0, facts.info.dimension), np.float32), *parts])

    async def _embed_halving(self, batch: Batch, *, cut: bool) -> Vectors:
        """``batch`` as one request or, where the server finds it too large, as two, and so on."""
        facts, gates = await self._known()
        try:
            async with gates.passages.take(len(batch.texts)):
                return await self._embed(
                    batch, cut=cut, policy=self._retry, dimension=facts.info.dimension
                )
        except RefusedError as refusal:
            if not refusal.by_size or len(batch.texts) == 1:
                raise input_error(refusal, batch.first) from None
            too_many = refusal.http_status == 422
        halves = [await self._embed_halving(half, cut=cut) for half in batch.halves()]
        if too_many:  # both halves passed, so it was their number
            gates.batch = min(gates.batch, len(halves[1]))
        return np.concatenate(halves)


def input_error(
    refusal: RefusedError, number: int, *, by_size: str | None = "text_too_long"
) -> Exception:
    """Who must act on ``refusal`` of text ``number`` alone: the caller, or the operator.

    ``by_size`` is the code of a 422: servers that do not cut refuse long texts by it.
    """
    if refusal.http_status == 413:
        return TooLargeError(f"Text {number} is too large for the {refusal.server.what}.")
    if refusal.of_input:
        return InvalidInputError(
            f"The {refusal.server.what} refuses text {number}. {refusal.reason}",
            code=by_size if refusal.by_size else None,
        )
    return refusal


async def gathered(work: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Results in order; the first failure cancels the rest before it is raised."""
    tasks = [asyncio.create_task(one) for one in work]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
