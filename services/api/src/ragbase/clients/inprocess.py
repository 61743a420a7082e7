"""The embedder of this process: ONNX Runtime on the CPU, no server, no network once loaded."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import TypeVar

import numpy as np

from ragbase.clients.embedder import EmbedderInfo, Tokenizer
from ragbase.errors import (
    ConfigurationError,
    EmbedderUnavailableError,
    InvalidInputError,
    OverloadedError,
    UpstreamError,
)
from ragbase.models.domain import Vector, Vectors
from ragbase_inference.batcher import Batcher
from ragbase_inference.embedder import BATCH_PADDING, BATCH_TOKENS, TextEmbedder, open_embedder
from ragbase_inference.errors import (
    ClosedError,
    ModelFailedError,
    ModelUnavailableError,
    QueueFullError,
    TextTooLongError,
)
from ragbase_inference.tokens import Encoded

__all__ = ["InProcessEmbedder", "open_inprocess"]

Answer = TypeVar("Answer")

_WAITING_QUERIES = 256
_WAITING_PASSAGES = 4096


async def open_inprocess(
    model: str,
    *,
    threads: int = 0,
    query_prefix: str | None = None,
    passage_prefix: str | None = None,
) -> InProcessEmbedder:
    """Load ``model`` (a folder or a Hugging Face id) off the event loop.

    ``threads`` = 0 takes all usable cores; prefixes left None are what the model's files say.
    Raises `ConfigurationError` where the model cannot be had: the message says what to do.
    """
    try:
        embedder = await asyncio.to_thread(
            open_embedder,
            model,
            threads=threads,
            query_prefix=query_prefix,
            passage_prefix=passage_prefix,
        )
    except ModelUnavailableError as error:
        raise ConfigurationError(f"EMBEDDING_MODEL={model}: {error}") from error
    return InProcessEmbedder(embedder)


class InProcessEmbedder:
    """An `Embedder` around a loaded model; queries never wait behind passages."""

    def __init__(self, embedder: TextEmbedder) -> None:
        self._embedder = embedder
        config = embedder.config
        self._info = EmbedderInfo(
            config.name, config.dimension, config.max_tokens, embedder.overhead_tokens
        )
        self._queries = Batcher[Encoded, Vector](
            lambda batch: list(embedder.run_queries(batch)),
            cost=len,
            max_cost=BATCH_TOKENS,
            max_padding=BATCH_PADDING,
            max_waiting=_WAITING_QUERIES,
            at_once=embedder.queries_at_once,
            name="embed-queries",
        )
        self._passages = Batcher[Encoded, Vector](
            lambda batch: list(embedder.run_passages(batch)),
            cost=len,
            max_cost=BATCH_TOKENS,
            max_padding=BATCH_PADDING,
            max_waiting=_WAITING_PASSAGES,
            name="embed-passages",
        )

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's own tokenizer."""
        return self._embedder.tokenizer

    async def info(self) -> EmbedderInfo:
        """Facts about the loaded model."""
        return self._info

    async def embed_query(self, text: str) -> tuple[Vector, bool]:
        """The query's vector, and whether the text was cut to the model's limit.

        A query is tokenised on the event loop: it takes less than a switch of threads.
        """
        encoded = self._embedder.encode_query(text)
        vector = await _translated(self._queries.submit(encoded))
        return _checked(vector[None], 1)[0], encoded.cut

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """One row a text; a text over the limit is an `InvalidInputError`, never cut."""
        return await self._embed(
            await _translated(asyncio.to_thread(self._embedder.encode_passages, texts))
        )

    async def embed_texts(self, texts: Sequence[str]) -> Vectors:
        """One row a text, without prefixes; long texts are cut."""
        return await self._embed(await asyncio.to_thread(self._embedder.encode_texts, texts))

    async def _embed(self, encoded: Sequence[Encoded]) -> Vectors:
        rows = await _translated(self._passages.submit_all(encoded))
        if not rows:
            return np.empty((0, self._info.dimension), np.float32)
        return _checked(np.stack(rows), len(encoded))

    async def ping(self) -> None:
        """Return when a vector can be had now, else raise `EmbedderUnavailableError`."""
        await self.embed_query("ping")

    async def aclose(self) -> None:
        """Stop both queues; the model is freed with this object."""
        await asyncio.gather(self._queries.aclose(), self._passages.aclose())


async def _translated(work: Awaitable[Answer]) -> Answer:
    """Await ``work``; errors of the inference package become the product's."""
    try:
        return await work
    except TextTooLongError as error:
        raise InvalidInputError(
            f"text {error.index} has {error.tokens} tokens; the embedding model reads "
            f"{error.limit}: split it",
            code="text_too_long",
        ) from error
    except QueueFullError as error:
        raise OverloadedError("too many queries wait for the embedding model") from error
    except ClosedError as error:
        raise EmbedderUnavailableError("the embedding model is closed") from error
    except ModelFailedError as error:
        raise EmbedderUnavailableError("the embedding model failed on this text") from error


def _checked(vectors: Vectors, count: int) -> Vectors:
    """Refuse what must never reach the store: NaN, infinities, zeros, a wrong count."""
    if len(vectors) != count or not np.isfinite(vectors).all() or not vectors.any(axis=1).all():
        raise UpstreamError("the embedding model gave vectors that cannot be used")
    return vectors
