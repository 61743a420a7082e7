"""The HTTP API's calls, one function each; both clients send what these return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pydantic import TypeAdapter

from ragbase.models.batch import DeleteOut
from ragbase.models.collections import CollectionOut
from ragbase.models.documents import DocumentDetail, DocumentOut
from ragbase.models.health import Health, ModelsHealth, Readiness
from ragbase.models.jobs import Job, JobKind, JobState
from ragbase.models.rerank import RerankResponse
from ragbase.models.search import EmbedResponse, SearchResponse
from ragbase.models.stats import StatsOut
from ragbase.sdk.form import FileForm
from ragbase.sdk.options import (
    CollectionOptions,
    DocumentOptions,
    Mode,
    SearchOptions,
    UploadOptions,
)
from ragbase.sdk.wire import Call

__all__ = [
    "cancel_job",
    "create_collection",
    "create_document",
    "delete_collection",
    "delete_document",
    "delete_documents",
    "embed",
    "get_collection",
    "get_document",
    "get_job",
    "health",
    "health_models",
    "ingest_later",
    "list_collections",
    "list_documents",
    "list_jobs",
    "put_collection",
    "ready",
    "rerank",
    "retry_job",
    "search",
    "stats",
    "upload_document",
]

_SEARCH_PATHS: Mapping[Mode, str] = {
    "hybrid": "/v1/search",
    "keyword": "/v1/search/keyword",
    "semantic": "/v1/search/semantic",
}
_SEARCH = TypeAdapter(SearchResponse)
_DOCUMENT = TypeAdapter(DocumentOut)
_DOCUMENT_DETAIL = TypeAdapter(DocumentDetail)
_DOCUMENTS = TypeAdapter(list[DocumentOut])
_COLLECTION = TypeAdapter(CollectionOut)
_COLLECTIONS = TypeAdapter(list[CollectionOut])
_JOB = TypeAdapter(Job)
_JOBS = TypeAdapter(list[Job])
_DELETED = TypeAdapter(DeleteOut)
_STATS = TypeAdapter(StatsOut)
_EMBED = TypeAdapter(EmbedResponse)
_RERANK = TypeAdapter(RerankResponse)
_HEALTH = TypeAdapter(Health)
_MODELS = TypeAdapter(ModelsHealth)
_READY = TypeAdapter(Readiness)


def search(query: str, mode: Mode, options: SearchOptions) -> Call[SearchResponse]:
    """`POST /v1/search`, or the route of the one arm that ``mode`` names."""
    return Call("POST", _SEARCH_PATHS[mode], _SEARCH, body={"query": query, **options})


def create_document(title: str, content: str, options: DocumentOptions) -> Call[DocumentOut]:
    """`POST /v1/documents`."""
    body = {"title": title, "content": content, **options}
    return Call("POST", "/v1/documents", _DOCUMENT, body=body)


def upload_document(
    file: Path | bytes, name: str | None, options: UploadOptions
) -> Call[DocumentOut]:
    """`POST /v1/documents/upload`."""
    name = name or (file.name if isinstance(file, Path) else "upload")
    return Call("POST", "/v1/documents/upload", _DOCUMENT, form=FileForm(name, file, dict(options)))


def list_documents(
    *, offset: int, limit: int, collection: str | None, include_content: bool
) -> Call[list[DocumentOut]]:
    """`GET /v1/documents`; newest first."""
    params: dict[str, str | int] = {
        "offset": offset,
        "limit": limit,
        "include_content": "true" if include_content else "false",
    }
    if collection is not None:
        params["collection"] = collection
    return Call("GET", "/v1/documents", _DOCUMENTS, params=params)


def get_document(document_id: int) -> Call[DocumentDetail]:
    """`GET /v1/documents/{id}`."""
    return Call("GET", f"/v1/documents/{document_id}", _DOCUMENT_DETAIL)


def delete_document(document_id: int) -> Call[None]:
    """`DELETE /v1/documents/{id}`."""
    return Call("DELETE", f"/v1/documents/{document_id}", None)


def delete_documents(
    *,
    ids: Sequence[int] | None = None,
    filter: Mapping[str, Any] | None = None,  # noqa: A002 - the API's word
    collection: str | None,
    dry_run: bool,
) -> Call[DeleteOut]:
    """`POST /v1/documents/delete`, by ``ids`` or by ``filter``."""
    body: dict[str, Any] = {"dry_run": dry_run}
    if ids is not None:
        body["ids"] = list(ids)
    if filter is not None:
        body["filter"] = filter
    if collection is not None:
        body["collection"] = collection
    return Call("POST", "/v1/documents/delete", _DELETED, body=body)


def stats() -> Call[StatsOut]:
    """`GET /v1/stats`."""
    return Call("GET", "/v1/stats", _STATS)


def list_collections() -> Call[list[CollectionOut]]:
    """`GET /v1/collections`."""
    return Call("GET", "/v1/collections", _COLLECTIONS)


def create_collection(name: str, options: CollectionOptions) -> Call[CollectionOut]:
    """`POST /v1/collections`; 409 where the name is taken."""
    return Call("POST", "/v1/collections", _COLLECTION, body={"name": name, **options})


def put_collection(name: str, options: CollectionOptions) -> Call[CollectionOut]:
    """`PUT /v1/collections/{name}`: made, or its settings replaced."""
    return Call("PUT", _collection(name), _COLLECTION, body=dict(options))


def get_collection(name: str) -> Call[CollectionOut]:
    """`GET /v1/collections/{name}`."""
    return Call("GET", _collection(name), _COLLECTION)


def delete_collection(name: str) -> Call[None]:
    """`DELETE /v1/collections/{name}`, with all its documents."""
    return Call("DELETE", _collection(name), None)


def ingest_later(title: str, content: str, options: DocumentOptions) -> Call[Job]:
    """`POST /v1/documents` with `Prefer: respond-async`."""
    body = {"title": title, "content": content, **options}
    return Call("POST", "/v1/documents", _JOB, body=body, headers={"Prefer": "respond-async"})


def list_jobs(
    state: JobState | None,
    kind: JobKind | None,
    collection: str | None,
    offset: int,
    limit: int,
) -> Call[list[Job]]:
    """`GET /v1/jobs`; newest first."""
    wanted = {"state": state, "kind": kind, "collection": collection}
    given = {name: value for name, value in wanted.items() if value is not None}
    params: dict[str, str | int] = {"offset": offset, "limit": limit, **given}
    return Call("GET", "/v1/jobs", _JOBS, params=params)


def get_job(job_id: int, wait: int) -> Call[Job]:
    """`GET /v1/jobs/{id}`, with `Prefer: wait=N`."""
    headers = {"Prefer": f"wait={wait}"} if wait else None
    return Call("GET", f"/v1/jobs/{job_id}", _JOB, headers=headers)


def cancel_job(job_id: int) -> Call[Job]:
    """`POST /v1/jobs/{id}/cancel`."""
    return Call("POST", f"/v1/jobs/{job_id}/cancel", _JOB)


def retry_job(job_id: int) -> Call[Job]:
    """`POST /v1/jobs/{id}/retry`."""
    return Call("POST", f"/v1/jobs/{job_id}/retry", _JOB)


def embed(inputs: Sequence[str]) -> Call[EmbedResponse]:
    """`POST /v1/embed`."""
    return Call("POST", "/v1/embed", _EMBED, body={"inputs": list(inputs)})


def rerank(
    query: str, texts: Sequence[str], *, return_text: bool, rerank_model: str | None
) -> Call[RerankResponse]:
    """`POST /v1/rerank`."""
    body: dict[str, Any] = {"query": query, "texts": list(texts)}
    if return_text:
        body["return_text"] = True
    if rerank_model is not None:
        body["rerank_model"] = rerank_model
    return Call("POST", "/v1/rerank", _RERANK, body=body)


def health() -> Call[Health]:
    """`GET /health`: the state of each part, always 200."""
    return Call("GET", "/health", _HEALTH)


def health_models() -> Call[ModelsHealth]:
    """`GET /health/models`."""
    return Call("GET", "/health/models", _MODELS)


def ready() -> Call[Readiness]:
    """`GET /health/ready`: 503 until requests can be served."""
    return Call("GET", "/health/ready", _READY)


def _collection(name: str) -> str:
    return f"/v1/collections/{quote(name, safe='')}"
