"""Embeddings from text-embeddings-inference, or a server that speaks its protocol."""

from __future__ import annotations

import asyncio

from ragbase.clients.answers import RefusedError, json_of, nothing
from ragbase.clients.batches import Batch
from ragbase.clients.embedder import EmbedderInfo
from ragbase.clients.http import AsyncHttp, Endpoint, SyncHttp
from ragbase.clients.prefixes import prefixes_for
from ragbase.clients.remote import BLANK, RemoteEmbedder, ServerFacts, input_error
from ragbase.clients.retry import RetryPolicy
from ragbase.clients.tei_info import TeiInfo
from ragbase.clients.tei_tokens import TeiTokenizer
from ragbase.clients.vectors import unit_rows
from ragbase.errors import ConfigurationError, EmbedderUnavailableError, UpstreamError
from ragbase.models.domain import Vector, Vectors

__all__ = ["TeiEmbedder"]

CHARS_PER_TOKEN = 250
"""TEI looks at no more characters than this many times the model's limit; neither do we send more
where it may cut."""
PING_S = 10.0
"""``/health`` waits behind the running batch: half a second on a busy CPU is health."""


class TeiEmbedder(RemoteEmbedder):
    """An `Embedder` over ``POST /embed``.

    ``model`` "" takes what is served; another model than ``model`` is a `ConfigurationError` of
    the first call. Prefixes left None come from the table of model families. Passages are sent
    with ``truncate: false``, so a passage over the limit is an error, never a silent cut.
    """

    def __init__(
        self,
        url: str,
        *,
        api_key: str = "",
        model: str = "",
        timeout_s: float = 30.0,
        query_prefix: str | None = None,
        passage_prefix: str | None = None,
        retry: RetryPolicy | None = None,
    ) -> None:
        super().__init__(timeout_s=timeout_s, retry=retry)
        endpoint = Endpoint.parse(url, api_key)
        self._http = AsyncHttp(endpoint, timeout_s=timeout_s)
        self._model = model
        self._query_prefix = query_prefix
        self._passage_prefix = passage_prefix
        self._tokenizer = TeiTokenizer(SyncHttp(endpoint, timeout_s=timeout_s), self._hurry)

    @property
    def tokenizer(self) -> TeiTokenizer:
        """The server's own, over ``POST /tokenize``."""
        return self._tokenizer

    async def embed_query(self, text: str) -> tuple[Vector, bool]:
        """The query's vector, and whether the text was cut to the model's limit."""
        facts, gates = await self._known()
        batch = Batch(0, [facts.prefixes.query + (text or BLANK)])
        dimension = facts.info.dimension
        async with gates.queries.take(1):
            for cut in (False, True):
                try:
                    rows = await self._embed(
                        batch, cut=cut, policy=self._hurry, dimension=dimension
                    )
                except RefusedError as refusal:
                    if cut or not refusal.by_size:
                        raise input_error(refusal, 0) from None
                else:
                    return rows[0], cut
        raise AssertionError("the second try returns or raises")

    async def ping(self) -> None:
        """Return when the server can answer with the model it was first asked for."""
        try:
            await self._http.call("GET", "health", read=nothing, policy=RetryPolicy.once(PING_S))
            told = await self._http.call(
                "GET", "info", read=TeiInfo.read, policy=RetryPolicy.once(PING_S)
            )
        except UpstreamError as error:
            raise EmbedderUnavailableError(error.message) from None
        if self._state is not None:
            known = self._state[0].info.model
            if known not in (told.model_id, told.served_model_name):
                raise EmbedderUnavailableError(
                    f"The embedding server now serves {told.model_id}; vectors here are {known}'s."
                )

    async def aclose(self) -> None:
        """Close all connections."""
        await super().aclose()
        await self._http.aclose()
        self._tokenizer.close()

    async def _ask(self) -> ServerFacts:
        try:
            told = await self._http.call("GET", "info", read=TeiInfo.read, policy=self._hurry)
        except RefusedError as refusal:
            if refusal.of_setup:
                raise ConfigurationError(refusal.message) from None
            raise
        model = told.name_for(self._model)
        prefixes = prefixes_for(model, query=self._query_prefix, passage=self._passage_prefix)
        overhead = await asyncio.to_thread(self._tokenizer.overhead, prefixes.passage)
        if overhead >= told.max_input_length:
            raise ConfigurationError("The passage prefix leaves no room in the model's limit.")
        probe = await self._embed(
            Batch(0, ["dimension"]), cut=False, policy=self._hurry, dimension=None
        )
        return ServerFacts(
            info=EmbedderInfo(model, probe.shape[1], told.max_input_length, overhead),
            batch=told.max_client_batch_size,
            permits=told.max_concurrent_requests,
            prefixes=prefixes,
        )

    async def _embed(
        self, batch: Batch, *, cut: bool, policy: RetryPolicy, dimension: int | None
    ) -> Vectors:
        texts = batch.texts
        if cut and self._state is not None:
            most = CHARS_PER_TOKEN * self._state[0].info.max_tokens
            texts = [text[:most] for text in texts]
        return await self._http.call(
            "POST",
            "embed",
            {"inputs": texts, "normalize": True, "truncate": cut},
            read=lambda answer: unit_rows(
                json_of(answer), rows=len(texts), dimension=dimension, first=batch.first
            ),
            policy=policy,
        )
