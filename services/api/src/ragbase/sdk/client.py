"""The blocking client."""

from __future__ import annotations

import builtins
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
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
from ragbase.sdk.graph import Concepts, Graph, Relations
from ragbase.sdk.jobs import Jobs
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

__all__ = ["Client"]

T = TypeVar("T")


class Client:
    """RagBase over HTTP, blocking. Keeps connections open; use it as a context manager.

    ``api_key`` left out: that of RAGBASE_API_KEY. ``timeout`` is in seconds per call. A 429 is
    tried again up to ``retries`` times after the wait that the server asks for. Raises `ApiError`
    and `ConnectionFailedError`.
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        api_key: str | None = None,
        *,
        timeout: float = 60.0,
        retries: int = 5,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._http = httpx.Client(**client_arguments(url, api_key, timeout), transport=transport)
        self._retries = retries
        self.documents = Documents(self)
        self.collections = Collections(self)
        self.jobs = Jobs(self)
        self.concepts = Concepts(self)
        self.relations = Relations(self)
        self.graph = Graph(self)

    def search(
        self, query: str, *, mode: Mode = "hybrid", **options: Unpack[SearchOptions]
    ) -> SearchResponse:
        """Search; ``mode`` picks hybrid or one arm alone."""
        return self.send(calls.search(query, mode, options))

    def search_graph(
        self, query: str, **options: Unpack[GraphSearchOptions]
    ) -> GraphSearchResponse:
        """Entities that the query names, what is related to them, and the chunks that tell of them."""
        return self.send(graph_calls.search_graph(query, options))

    def embed(self, inputs: Sequence[str]) -> EmbedResponse:
        """Vectors of the server's embedding model, one a text."""
        return self.send(calls.embed(inputs))

    def rerank(
        self,
        query: str,
        texts: Sequence[str],
        *,
        return_text: bool = False,
        rerank_model: str | None = None,
    ) -> RerankResponse:
        """``texts`` by how well they answer ``query``, best first; `ApiError` 503 without a reranker."""
        call = calls.rerank(query, texts, return_text=return_text, rerank_model=rerank_model)
        return self.send(call)

    def stats(self) -> StatsOut:
        """How much is stored and under way: in all, and of each collection the key may read."""
        return self.send(calls.stats())

    def health(self) -> Health:
        """State of each part of the server."""
        return self.send(calls.health())

    def health_models(self) -> ModelsHealth:
        """Which models answer."""
        return self.send(calls.health_models())

    def ready(self) -> Readiness:
        """Return when the server can answer requests, else raise `ApiError` (503)."""
        return self.send(calls.ready())

    def send(self, call: Call[T]) -> T:
        """Send any call; a 429 is waited out within the client's retries."""
        for attempt in range(self._retries + 1):
            try:
                return decode(call, self._request(call))
            except ApiError as error:
                if error.status != 429 or attempt == self._retries:
                    raise
                time.sleep(backoff(error, attempt))
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _request(self, call: Call[T]) -> httpx.Response:
        try:
            with call.arguments() as arguments:
                return self._http.request(call.method, call.path, **arguments)
        except httpx.HTTPError as error:
            raise unreachable(self._http.base_url, error) from error

    @contextmanager
    def stream(self, **arguments: Any) -> Iterator[httpx.Response]:
        """An answer to be read piece by piece; a 429 is waited out as in `send`."""
        try:
            for attempt in range(self._retries + 1):
                with self._http.stream(**arguments) as response:
                    if response.is_success:
                        yield response
                        return
                    response.read()
                    error = error_of(response)
                if error.status != 429 or attempt == self._retries:
                    raise error
                time.sleep(backoff(error, attempt))
        except httpx.HTTPError as error:
            raise unreachable(self._http.base_url, error) from error

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class Documents:
    """`client.documents`."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def create(self, title: str, content: str, **options: Unpack[DocumentOptions]) -> DocumentOut:
        """Store a document; with an ``external_id`` already known it is replaced."""
        return self._client.send(calls.create_document(title, content, options))

    def batch(
        self,
        documents: Iterable[BatchDocument],
        *,
        include_content: bool = False,
        respond_async: bool = False,
    ) -> Iterator[BatchResult]:
        """Store many documents; gives one result each, in order, as they are stored.

        ``documents`` may be endless: they are taken some hundreds at a time. A refused document is a
        result with an ``error``. ``respond_async`` makes each a job. When the server goes away,
        documents without a result may or may not be stored: give them an ``external_id`` and
        send them again.
        """
        for request in requests(documents):
            arguments = request.arguments(
                include_content=include_content, respond_async=respond_async
            )
            with self._client.stream(**arguments) as response:
                answer = BatchAnswer(request, response)
                for piece in response.iter_bytes():
                    yield from answer.read(piece)
            answer.end()

    def delete_many(
        self, ids: Sequence[int], *, collection: str | None = None, dry_run: bool = False
    ) -> DeleteOut:
        """Remove documents by id; the answer names those that are not there."""
        call = calls.delete_documents(ids=ids, collection=collection, dry_run=dry_run)
        return self._client.send(call)

    def delete_matching(
        self, condition: Mapping[str, Any], *, collection: str | None = None, dry_run: bool = False
    ) -> DeleteOut:
        """Remove the documents of a collection that match a filter; ``dry_run`` counts them only."""
        call = calls.delete_documents(filter=condition, collection=collection, dry_run=dry_run)
        return self._client.send(call)

    def upload(
        self, file: Path | bytes, name: str | None = None, **options: Unpack[UploadOptions]
    ) -> DocumentOut:
        """Store a file; the server reads it. ``name`` tells its kind where the content does not."""
        return self._client.send(calls.upload_document(file, name, options))

    def get(self, document_id: int) -> DocumentDetail:
        """A document with its chunks."""
        return self._client.send(calls.get_document(document_id))

    def delete(self, document_id: int) -> None:
        """Remove a document and all that was derived from it."""
        self._client.send(calls.delete_document(document_id))

    def list(
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
        return self._client.send(call)

    def iterate(
        self, *, collection: str | None = None, include_content: bool = False
    ) -> Iterator[DocumentOut]:
        """All documents, newest first, page by page."""
        offset = 0
        while True:
            page = self.list(
                offset=offset, limit=PAGE, collection=collection, include_content=include_content
            )
            yield from page
            if len(page) < PAGE:
                return
            offset += PAGE


class Collections:
    """`client.collections`."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def create(self, name: str, **options: Unpack[CollectionOptions]) -> CollectionOut:
        """Make a collection; `ApiError` 409 where the name is taken."""
        return self._client.send(calls.create_collection(name, options))

    def put(self, name: str, **options: Unpack[CollectionOptions]) -> CollectionOut:
        """Make a collection, or replace its settings."""
        return self._client.send(calls.put_collection(name, options))

    def get(self, name: str) -> CollectionOut:
        """A collection with its counts."""
        return self._client.send(calls.get_collection(name))

    def list(self) -> builtins.list[CollectionOut]:
        """All collections that the key may read."""
        return self._client.send(calls.list_collections())

    def delete(self, name: str) -> None:
        """Remove a collection with all its documents."""
        self._client.send(calls.delete_collection(name))
