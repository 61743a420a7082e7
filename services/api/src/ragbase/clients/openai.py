"""Embeddings from a server with OpenAI's ``POST /v1/embeddings``."""

from __future__ import annotations

import asyncio
import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from ragbase.clients.answers import Answer, RefusedError, json_of
from ragbase.clients.batches import Batch
from ragbase.clients.embedder import EmbedderInfo
from ragbase.clients.estimated_tokens import EstimatedTokenizer
from ragbase.clients.http import AsyncHttp, Endpoint
from ragbase.clients.local_tokens import LocalTokenizer, token_limit, tokenizer_folder
from ragbase.clients.prefixes import prefixes_for
from ragbase.clients.remote import BLANK, RemoteEmbedder, ServerFacts, input_error
from ragbase.clients.retry import RetryPolicy
from ragbase.clients.tei_info import TeiInfo
from ragbase.clients.vectors import UnusableAnswerError, unit_rows
from ragbase.errors import (
    ConfigurationError,
    EmbedderUnavailableError,
    InvalidInputError,
    UpstreamError,
)
from ragbase.models.domain import Vector, Vectors

__all__ = ["OpenAiEmbedder"]

T = TypeVar("T")

BATCH = 32
"""Inputs a request. OpenAI takes 2,048, TEI and others behind the same route 32; a server that
takes fewer is met by halving."""
PERMITS = 512
MAX_TOKENS = 512
"""Where nothing tells the model's limit."""
HOSTED = {
    "text-embedding-3-small": 8191,
    "text-embedding-3-large": 8191,
    "text-embedding-ada-002": 8191,
}
"""https://platform.openai.com/docs/guides/embeddings"""


class OpenAiEmbedder(RemoteEmbedder):
    """An `Embedder` over ``POST {url}/embeddings``; ``url`` as OpenAI's clients take it (…/v1).

    The protocol knows no limit and no truncation, and some servers cut silently, so texts are
    measured here: by the model's own tokeniser where its files are on this machine, else by a
    conservative estimate. ``max_tokens`` overrides what the server or the files say.
    """

    def __init__(
        self,
        url: str,
        *,
        model: str,
        api_key: str = "",
        timeout_s: float = 30.0,
        query_prefix: str | None = None,
        passage_prefix: str | None = None,
        max_tokens: int | None = None,
        retry: RetryPolicy | None = None,
    ) -> None:
        super().__init__(timeout_s=timeout_s, retry=retry)
        if not model:
            raise ConfigurationError("EMBEDDING_MODEL is required for the openai engine.")
        self._http = AsyncHttp(Endpoint.parse(_base(url), api_key), timeout_s=timeout_s)
        self._model = model
        self._prefixes = prefixes_for(model, query=query_prefix, passage=passage_prefix)
        self._folder = tokenizer_folder(model)
        self._tokenizer: LocalTokenizer | EstimatedTokenizer = (
            LocalTokenizer(self._folder) if self._folder else EstimatedTokenizer()
        )
        self._max_tokens = max_tokens
        self._encoding = "base64"

    @property
    def tokenizer(self) -> LocalTokenizer | EstimatedTokenizer:
        """The model's own where its files are here, else an estimate from above."""
        return self._tokenizer

    async def embed_query(self, text: str) -> tuple[Vector, bool]:
        """The query's vector, and whether the text was cut to the model's limit."""
        facts, gates = await self._known()
        full, cut = await asyncio.to_thread(self._shortened, facts, self._prefixes.query + text)
        async with gates.queries.take(1):
            try:
                rows = await self._embed(
                    Batch(0, [full or BLANK]),
                    cut=False,
                    policy=self._hurry,
                    dimension=facts.info.dimension,
                )
            except RefusedError as refusal:
                raise input_error(refusal, 0) from None
        return rows[0], cut

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """One row a text, in order; a text over the model's limit is an `InvalidInputError`."""
        facts, _ = await self._known()
        full = [self._prefixes.passage + text for text in texts]
        await asyncio.to_thread(self._refuse_long, facts, full)
        return await self._embed_all(full, cut=False)

    async def embed_texts(self, texts: Sequence[str]) -> Vectors:
        """As `embed_passages`, without any prefix; long texts are cut."""
        facts, _ = await self._known()
        short = await asyncio.to_thread(lambda: [self._shortened(facts, text)[0] for text in texts])
        return await self._embed_all(short, cut=True)

    async def ping(self) -> None:
        """Return when the server answers; costs no tokens (``GET /models``, in any form)."""
        policy = RetryPolicy(attempts=1)
        try:
            await self._http.call("GET", "models", read=lambda answer: answer, policy=policy)
        except RefusedError as refusal:
            if refusal.http_status not in (404, 405):
                raise EmbedderUnavailableError(refusal.message) from None
        except UpstreamError as error:
            raise EmbedderUnavailableError(error.message) from None

    async def aclose(self) -> None:
        """Close all connections."""
        await super().aclose()
        await self._http.aclose()

    def _room(self, facts: ServerFacts) -> int:
        return facts.info.max_tokens - self._tokenizer.special_tokens

    def _shortened(self, facts: ServerFacts, text: str) -> tuple[str, bool]:
        room = self._room(facts)
        spans = self._tokenizer.spans(text)
        return (text, False) if len(spans) <= room else (text[: spans[room - 1, 1]], True)

    def _refuse_long(self, facts: ServerFacts, texts: Sequence[str]) -> None:
        room = self._room(facts)
        for number, count in enumerate(self._tokenizer.count(texts)):
            if count > room:
                raise InvalidInputError(
                    f"Text {number} has {count} tokens; the embedding model takes {room}.",
                    code="text_too_long",
                )

    async def _ask(self) -> ServerFacts:
        # TEI serves this route too, ignores `model` and cuts silently: ask it what it is.
        at_root = self._http.endpoint.url.endswith("/v1")
        told = await self._told("../info", TeiInfo.read) if at_root else None
        name = told.name_for(self._model) if told else self._model
        limit = self._max_tokens or await self._limit(told)
        special = self._tokenizer.special_tokens
        overhead = special + sum(self._tokenizer.count([self._prefixes.passage]))
        if overhead >= limit:
            raise ConfigurationError("The passage prefix leaves no room in the model's limit.")
        probe = await self._probe()
        return ServerFacts(
            info=EmbedderInfo(name, probe.shape[1], limit, overhead),
            batch=told.max_client_batch_size if told else BATCH,
            permits=told.max_concurrent_requests if told else PERMITS,
            prefixes=self._prefixes,
        )

    async def _told(self, path: str, read: Callable[[Answer], T]) -> T | None:
        """What an optional route says, None where the server has no such route."""
        try:
            return await self._http.call("GET", path, read=read, policy=self._hurry)
        except UpstreamError:
            return None

    async def _limit(self, told: TeiInfo | None) -> int:
        """Tokens the model takes: as the server says, as is known, as the model's files say."""
        if told:
            return told.max_input_length
        if self._model in HOSTED:
            return HOSTED[self._model]
        listed = await self._told("models", json_of)
        return (
            _max_model_len(listed, self._model)
            or (self._folder and token_limit(self._folder))
            or MAX_TOKENS
        )

    async def _probe(self) -> Vectors:
        """Vector of a test text; finds the dimension and whether base64 is understood."""
        batch = Batch(0, ["dimension"])
        for encoding in ("base64", "float"):
            self._encoding = encoding
            try:
                return await self._embed(batch, cut=False, policy=self._hurry, dimension=None)
            except RefusedError as refusal:
                if encoding == "base64" and refusal.http_status in (400, 422):
                    continue
                if refusal.of_setup or refusal.of_input:
                    raise ConfigurationError(refusal.message) from None
                raise
        raise AssertionError("the second try returns or raises")

    async def _embed(
        self,
        batch: Batch,
        *,
        cut: bool,  # noqa: ARG002 - texts were measured before; the protocol has no such flag
        policy: RetryPolicy,
        dimension: int | None,
    ) -> Vectors:
        return await self._http.call(
            "POST",
            "embeddings",
            {"model": self._model, "input": batch.texts, "encoding_format": self._encoding},
            read=lambda answer: unit_rows(
                _rows(json_of(answer), len(batch.texts)),
                rows=len(batch.texts),
                dimension=dimension,
                first=batch.first,
            ),
            policy=policy,
        )


def _base(url: str) -> str:
    """``url`` with ``/v1`` where it has no path at all, and without ``/embeddings``."""
    url = url.strip().rstrip("/").removesuffix("/embeddings")
    return f"{url}/v1" if re.fullmatch(r"[a-z]+://[^/?#]+", url, re.IGNORECASE) else url


def _rows(answer: Any, count: int) -> list[Any]:
    """Embeddings in the order of the texts: by ``index``, whatever the order they came in."""
    data = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
        raise UnusableAnswerError("The embedding server sent no list of vectors.")
    places = [item.get("index") for item in data]
    if len(data) == count and sorted(places, key=str) != sorted(range(count), key=str):
        raise UnusableAnswerError("The embedding server's vectors do not say whose they are.")
    ordered = sorted(data, key=lambda item: item["index"]) if len(data) == count else data
    return [_numbers(item.get("embedding")) for item in ordered]


def _numbers(embedding: object) -> object:
    """Base64 of little-endian 32-bit floats as numbers; a list stays as it is."""
    if not isinstance(embedding, str):
        return embedding
    try:
        return np.frombuffer(b64decode(embedding, validate=True), dtype="<f4")
    except (Base64Error, ValueError):
        raise UnusableAnswerError("The embedding server sent broken base64.") from None


def _max_model_len(listed: object, model: str) -> int | None:
    """vLLM's extension of ``GET /models``: the context length of each model."""
    data = listed.get("data") if isinstance(listed, dict) else None
    for card in data if isinstance(data, list) else []:
        if isinstance(card, dict) and card.get("id") == model:
            length = card.get("max_model_len")
            return length if isinstance(length, int) and length > 0 else None
    return None
