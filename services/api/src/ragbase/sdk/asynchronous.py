"""The asynchronous client; the same calls as `ragbase.sdk.client`."""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

import httpx

from ragbase.models.batch import BatchResult, DeleteOut
from ragbase.models.collections import CollectionOut
from ragbase.models.documents import DocumentDetail, DocumentOut
from ragbase.models.graph_search import GraphSearchResponse
from ragbase.models.health import Health, ModelsHealth, Readiness
from ragbase.models.rerank import RerankResponse
from ragbase.models.search import EmbedResponse, SearchResponse
from ragbase.models.stats import StatsOut
from ragbase.sdk import calls, graph_calls
from ragbase.sdk.batch import BatchAnswer, BatchDocument, requests
from ragbase.sdk.errors import ApiError
from ragbase.sdk.graph_asynchronous import AsyncConcepts, AsyncGraph, AsyncRelations
from ragbase.sdk.jobs import AsyncJobs
from ragbase.sdk.options import (
    CollectionOptions,
    DocumentOptions,
    GraphSearchOptions,
    Mode,
    SearchOptions,
    UploadOptions,
)
from ragbase.sdk.transport import DEFAULT_URL, PAGE, client_arguments, unreachable
from ragbase.sdk.wire import Call, backoff, decode, error_of

__all__ = ["AsyncClient"]

T = TypeVar("T")


class AsyncClient:
    """RagBase over HTTP, asynchronous; see `ragbase.sdk.Client` for arguments and errors."""

    def __init__(
        self,
        url: str = DEFAULT_URL,
        api_key: str | None = None,
        *,
        timeout: float = 60.0,
        retries: int = 5,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._http = httpx.AsyncClient(
            **client_arguments(url, api_key, timeout), transport=transport
        )
        self._retries = retries
        self.documents = AsyncDocuments(self)
        self.collections = AsyncCollections(self)
        self.jobs = AsyncJobs(self)
        self.concepts = AsyncConcepts(self)
        self.relations = AsyncRelations(self)
        self.graph = AsyncGraph(self)

    async def search(
        self, query: str, *, mode: Mode = "hybrid", **options: Unpack[SearchOptions]
    ) -> SearchResponse:
        """Search; ``mode`` picks hybrid or one arm alone."""
        return await self.send(calls.search(query, mode, options))

    async def search_graph(
        self, query: str, **options: Unpack[GraphSearchOptions]
    ) -> GraphSearchResponse:
        """Entities that the query names, what is related to them, and the chunks that tell of them."""
        return await self.send(graph_calls.search_graph(query, options))

    async def embed(self, inputs: Sequence[str]) -> EmbedResponse:
        """Vectors of the server's embedding model, one a text."""
        return await self.send(calls.embed(inputs))

    async def rerank(
        self,
        query: str,
        texts: Sequence[str],
        *,
        return_text: bool = False,
        rerank_model: str | None = None,
    ) -> RerankResponse:
        """``texts`` by how well they answer ``query``, best first; `ApiError` 503 without a reranker."""
        call = calls.rerank(query, texts, return_text=return_text, rerank_model=rerank_model)
        return await self.send(call)

    async def stats(self) -> StatsOut:
        """How much is stored and under way: in all, and of each collection the key may read."""
        return await self.send(calls.stats())

    async def health(self) -> Health:
        """State of each part of the server."""
        return await self.send(calls.health())

    async def health_models(self) -> ModelsHealth:
        """Which models answer."""
        return await self.send(calls.health_models())

    async def ready(self) -> Readiness:
        """Return when the server can answer requests, else raise `ApiError` (503)."""
        return await self.send(calls.ready())

    async def send(self, call: Call[T]) -> T:
        """Send any call; a 429 is waited out within the client's retries."""
        for attempt in range(self._retries + 1):
            try:
                return decode(call, await self._request(call))
            except ApiError as error:
                if error.status != 429 or attempt == self._retries:
                    raise
                await asyncio.sleep(backoff(error, attempt))
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def _request(self, call: Call[T]) -> httpx.Response:
        try:
            with call.arguments() as arguments:
                return await self._http.request(call.method, call.path, **arguments)
        except httpx.HTTPError as error:
            raise unreachable(self._http.base_url, error) from error

    @asynccontextmanager
    async def stream(self, **arguments: Any) -> AsyncIterator[httpx.Response]:
        """An answer to be read piece by piece; a 429 is waited out as in `send`."""
        try:
            for attempt in range(self._retries + 1):
                async with self._http.stream(**arguments) as response:
                    if response.is_success:
                        yield response
                        return
                    await response.aread()
                    error = error_of(response)
                if error.status != 429 or attempt == self._retries:
                    raise error
                await asyncio.sleep(backoff(error, attempt))
        except httpx.HTTPError as error:
            raise unreachable(self._http.base_url, error) from error

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


class AsyncDocuments:
    """`client.documents`."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    async def create(
        self, title: str, content: str, **options: Unpack[DocumentOptions]
    ) -> DocumentOut:
        """Store a document; with an ``external_id`` already known it is replaced."""
        return await self._client.send(calls.create_document(title, content, options))

    async def batch(
        self,
        documents: Iterable[BatchDocument],
        *,
        include_content: bool = False,
        respond_async: bool = False,
    ) -> AsyncIterator[BatchResult]:
        """Store many documents; gives one result each, in order, as they are stored.

        See `ragbase.sdk.client.Documents.batch`.
        """
        for request in requests(documents):
            arguments = request.arguments(
                include_content=include_content, respond_async=respond_async
            )
            async with self._client.stream(**arguments) as response:
                answer = BatchAnswer(request, response)
                async for piece in response.aiter_bytes():
                    for result in answer.read(piece):
                        yield result
            answer.end()

    async def delete_many(
        self, ids: Sequence[int], *, collection: str | None = None, dry_run: bool = False
    ) -> DeleteOut:
        """Remove documents by id; the answer names those that are not there."""
        call = calls.delete_documents(ids=ids, collection=collection, dry_run=dry_run)
        return await self._client.send(call)

    async def delete_matching(
        self, condition: Mapping[str, Any], *, collection: str | None = None, dry_run: bool = False
    ) -> DeleteOut:
        """Remove the documents of a collection that match a filter; ``dry_run`` counts them only."""
        call = calls.delete_documents(filter=condition, collection=collection, dry_run=dry_run)
        return await self._client.send(call)

    async def upload(
        self, file: Path | bytes, name: str | None = None, **options: Unpack[UploadOptions]
    ) -> DocumentOut:
        """Store a file; the server reads it. ``name`` tells its kind where the content does not."""
        return await self._client.send(calls.upload_document(file, name, options))

    async def get(self, document_id: int) -> DocumentDetail:
        """A document with its chunks."""
        return await self._client.send(calls.get_document(document_id))

    async def delete(self, document_id: int) -> None:
        """Remove a document and all that was derived from it."""
        await self._client.send(calls.delete_document(document_id))

    async def list(
        self,
        *,
        offset: int = 0,
        limit: int = 20,
        collection: str | None = None,
        include_content: bool = True,
    ) -> builtins.list[DocumentOut]:
        """One page of documents, newest first; ``limit`` is at most 100."""
        call = calls.list_documents(
            offset=offset, limit=limit, collection=collection, include_content=include_content
        )
        return await self._client.send(call)

    async def iterate(
        self, *, collection: str | None = None, include_content: bool = False
    ) -> AsyncIterator[DocumentOut]:
        """All documents, newest first, page by page."""
        offset = 0
        while True:
            page = await self.list(
                offset=offset, limit=PAGE, collection=collection, include_content=include_content
            )
            for document in page:
                yield document
            if len(page) < PAGE:
                return
            offset += PAGE


class AsyncCollections:
    """`client.collections`."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    async def create(self, name: str, **options: Unpack[CollectionOptions]) -> CollectionOut:
        """Make a collection; `ApiError` 409 where the name is taken."""
        return await self._client.send(calls.create_collection(name, options))

    async def put(self, name: str, **options: Unpack[CollectionOptions]) -> CollectionOut:
        """Make a collection, or replace its settings."""
        return await self._client.send(calls.put_collection(name, options))

    async def get(self, name: str) -> CollectionOut:
        """A collection with its counts."""
        return await self._client.send(calls.get_collection(name))

    async def list(self) -> builtins.list[CollectionOut]:
        """All collections that the key may read."""
        return await self._client.send(calls.list_collections())

    async def delete(self, name: str) -> None:
        """Remove a collection with all its documents."""
        await self._client.send(calls.delete_collection(name))
