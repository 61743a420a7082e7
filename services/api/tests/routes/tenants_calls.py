"""Calls of every operation on documents, collections, jobs and keys, aimed at the other tenant."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .tenants_aims import EXTREMES, OWN, Call, Target, aims_at, document, filters

__all__: list[str] = []

ASYNC = {"prefer": "respond-async, wait=20"}


def searches(t: Target) -> list[dict[str, Any]]:
    query = t.text("content")
    bodies: list[dict[str, Any]] = [
        {"query": query},
        {"query": query, "collection": t.collection},
        {"query": query, "collections": [t.collection]},
        {"query": query, "collections": [OWN, t.collection]},
        {"query": query, "collections": [t.collection, "default", OWN]},
        {"query": query, "collection": "default"},
        {"query": query, "collection": OWN, "top_k": 100, "candidates": 1000, "explain": True},
        {"query": query, "collection": OWN, "offset": 900, "candidates": 1000},
        {"query": query, "collection": OWN, "group_by": "document", "min_score": 0.0},
        {"query": "ships after dusk", "collection": OWN, "explain": True, "filter": filters(t)[1]},
        {"query": query, "collection": t.collection.upper()},
        {"query": query, "collection": f"{OWN}' OR name = '{t.collection}"},
    ]
    bodies += [{"query": query, "collection": OWN, "filter": each} for each in filters(t)]
    return bodies


@aims_at("post", "/v1/search")
@aims_at("post", "/v1/search/semantic")
@aims_at("post", "/v1/search/keyword")
def search(t: Target) -> Iterator[Call]:
    for arm in ("", "/semantic", "/keyword"):
        for body in searches(t):
            yield Call("POST", f"/v1/search{arm}", {"json": body})


@aims_at("get", "/v1/documents")
def list_documents(t: Target) -> Iterator[Call]:
    for page in EXTREMES:
        yield Call("GET", "/v1/documents", {"params": page})
    for name in (t.collection, "default", OWN, f"{OWN},{t.collection}", "*", "%"):
        yield Call("GET", "/v1/documents", {"params": {"collection": name}})


@aims_at("post", "/v1/documents")
def create_document(t: Target) -> Iterator[Call]:
    wanted: list[dict[str, Any]] = [
        {"collection": t.collection},
        {"collection": t.collection, "external_id": t.text("external")},
        {},
        {"collection": OWN, "dedupe": True},
        {"collection": OWN, "external_id": t.text("external"), "dedupe": True},
    ]
    for headers in ({}, ASYNC):
        for fields in wanted:
            arguments = {"json": document(t, **fields), "headers": headers}
            yield Call("POST", "/v1/documents", arguments)


@aims_at("post", "/v1/documents/batch")
def create_documents(t: Target) -> Iterator[Call]:
    items = [
        document(t, collection=t.collection),
        document(t, collection=OWN, external_id=t.text("external")),
        document(t, collection="default"),
        document(t, collection=t.collection, external_id=t.text("external"), dedupe=True),
    ]
    for headers in ({}, ASYNC):
        yield Call("POST", "/v1/documents/batch", {"json": items, "headers": headers})
    lines = "".join(json.dumps(item) + "\n" for item in items)
    kind = {"content-type": "application/x-ndjson"}
    yield Call("POST", "/v1/documents/batch", {"content": lines, "headers": kind})


@aims_at("post", "/v1/documents/upload")
def upload_document(t: Target) -> Iterator[Call]:
    file = ("notes.md", f"# {t.text('title')}\n\n{t.text('content')} once more.", "text/markdown")
    for headers in ({}, ASYNC):
        for name in (t.collection, OWN, "default"):
            fields = {"collection": name, "external_id": t.text("external")}
            arguments = {"files": {"file": file}, "data": fields, "headers": headers}
            yield Call("POST", "/v1/documents/upload", arguments)


@aims_at("post", "/v1/documents/delete")
def delete_documents(t: Target) -> Iterator[Call]:
    bodies: list[dict[str, Any]] = [
        {"ids": [t.document_id]},
        {"ids": [t.document_id, -1, 0, 2**62]},
        {"ids": [t.document_id], "collection": t.collection},
        {"ids": [t.document_id], "collection": OWN},
        {"filter": {"@id": t.document_id}},
        {"filter": {"@id": {"exists": True}}, "collection": t.collection},
        {"filter": {"@id": {"exists": True}}, "collection": "default"},
        {"filter": {"@id": t.document_id}, "collection": OWN},
        {"filter": {t.text("key"): t.text("value")}, "collection": OWN},
    ]
    bodies += [{**body, "dry_run": True} for body in bodies]
    bodies += [{"filter": each, "collection": OWN, "dry_run": True} for each in filters(t)]
    for headers in ({}, ASYNC):
        for body in bodies:
            yield Call("POST", "/v1/documents/delete", {"json": body, "headers": headers})


@aims_at("get", "/v1/documents/{document_id}")
def get_document(t: Target) -> Iterator[Call]:
    yield Call("GET", f"/v1/documents/{t.document_id}")


@aims_at("patch", "/v1/documents/{document_id}")
def patch_document(t: Target) -> Iterator[Call]:
    for headers in ({}, ASYNC):
        for body in ({"metadata": {}}, {"metadata": {t.text("key"): "taken"}, "merge": True}):
            arguments = {"json": body, "headers": headers}
            yield Call("PATCH", f"/v1/documents/{t.document_id}", arguments)


@aims_at("delete", "/v1/documents/{document_id}")
def delete_document(t: Target) -> Iterator[Call]:
    yield Call("DELETE", f"/v1/documents/{t.document_id}")


@aims_at("get", "/v1/collections")
def list_collections(t: Target) -> Iterator[Call]:
    yield Call("GET", "/v1/collections", {"params": {"name": t.collection}})


@aims_at("post", "/v1/collections")
def create_collection(t: Target) -> Iterator[Call]:
    for name in (t.collection, "default", OWN):
        yield Call("POST", "/v1/collections", {"json": {"name": name, "language": "german"}})


@aims_at("get", "/v1/collections/{name}")
@aims_at("put", "/v1/collections/{name}")
@aims_at("delete", "/v1/collections/{name}")
def one_collection(t: Target) -> Iterator[Call]:
    for method in ("GET", "PUT", "DELETE"):
        arguments = {"json": {"language": "german"}} if method == "PUT" else {}
        for name in (t.collection, "default"):
            yield Call(method, f"/v1/collections/{name}", arguments)
    yield Call("PUT", f"/v1/collections/{OWN}", {"json": {"language": "german"}})
    yield Call("GET", f"/v1/collections/{OWN}")


@aims_at("get", "/v1/jobs")
def list_jobs(t: Target) -> Iterator[Call]:
    for page in ({"collection": t.collection}, {"collection": "default"}, *EXTREMES[1:2]):
        yield Call("GET", "/v1/jobs", {"params": page})
    yield Call("GET", "/v1/jobs", {"params": {"state": "failed"}})


@aims_at("get", "/v1/jobs/{job_id}")
@aims_at("post", "/v1/jobs/{job_id}/cancel")
@aims_at("post", "/v1/jobs/{job_id}/retry")
def one_job(t: Target) -> Iterator[Call]:
    yield Call("GET", f"/v1/jobs/{t.job_id}")
    yield Call("GET", f"/v1/jobs/{t.job_id}", {"headers": {"prefer": "wait=1"}})
    yield Call("POST", f"/v1/jobs/{t.job_id}/cancel")
    yield Call("POST", f"/v1/jobs/{t.job_id}/retry")


@aims_at("get", "/v1/stats")
def stats(t: Target) -> Iterator[Call]:
    yield Call("GET", "/v1/stats", {"params": {"collection": t.collection}})


@aims_at("post", "/v1/embed")
def embed(t: Target) -> Iterator[Call]:
    yield Call("POST", "/v1/embed", {"json": {"inputs": ["a text of one's own"]}})


@aims_at("post", "/v1/rerank")
def rerank(t: Target) -> Iterator[Call]:
    for body in ({}, {"rerank_model": "qwen-8b"}, {"rerank_model": "nobody"}):
        texts = {"query": "of one's own", "texts": ["a text", "another"], **body}
        yield Call("POST", "/v1/rerank", {"json": texts})


@aims_at("get", "/v1/keys")
@aims_at("post", "/v1/keys")
@aims_at("get", "/v1/keys/{key_id}")
@aims_at("delete", "/v1/keys/{key_id}")
def keys(t: Target) -> Iterator[Call]:
    yield Call("GET", "/v1/keys")
    body = {"name": "more", "scopes": ["admin"], "collections": [t.collection]}
    yield Call("POST", "/v1/keys", {"json": body})
    yield Call("GET", f"/v1/keys/{t.key_id}")
    yield Call("DELETE", f"/v1/keys/{t.key_id}")


@aims_at("get", "/health")
@aims_at("get", "/health/live")
@aims_at("get", "/health/ready")
@aims_at("get", "/health/models")
def health(_: Target) -> Iterator[Call]:
    for path in ("/health", "/health/live", "/health/ready", "/health/models"):
        yield Call("GET", path)
    for path in ("/metrics", "/", "/docs", "/openapi.json"):  # not in the document
        yield Call("GET", path)
