"""The OpenAPI document, made out of the table of routes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import JsonSchemaMode

from ragbase_inference import __version__
from ragbase_inference.server.answers import FlatError, Info, Models, NativeError
from ragbase_inference.server.endpoints import ENDPOINTS, Endpoint

__all__ = ["openapi_document"]

_DESCRIPTION = """
The protocol of text-embeddings-inference, and beside it `/v1/rerank` as clients of Jina and Cohere
speak it, `/v1/ner`, and several models in one process: each answers under `/models/<name>` too.
"""
_REF = "#/components/schemas/{model}"
_PLAIN = {
    408: "The body did not arrive in time.",
    413: "The body is too large.",
    415: "The body is not announced as JSON.",
}
_MIXED = {
    400: "No JSON (plain text), or nothing in it to work on.",
    422: "Another shape than wanted (plain text), or a value that cannot be.",
}
_ERRORS = {
    424: "The model is of another kind, or failed on this input.",
    429: "Too many inputs are being worked on; try again.",
    503: "The model cannot be loaded, or the server is shutting down.",
}


def openapi_document(names: Sequence[str], *, with_key: bool) -> dict[str, Any]:
    """The document of a process that serves models of these names."""
    schemas, refs = _schemas()
    paths = {one.path: {"post": _operation(one, refs)} for one in ENDPOINTS}
    paths["/"]["get"] = _probe("200 while the server runs")
    for path in ("/health", "/ping"):
        paths[path] = {"get": _probe("200 while all loaded models answer")}
    paths["/info"] = {"get": _told("What the model is and takes", refs["Info"])}
    paths["/v1/models"] = {"get": _told("All models, with state and memory", refs["Models"])}
    paths["/metrics"] = {"get": _metrics()}
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "ragbase-inference",
            "version": __version__,
            "description": _DESCRIPTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [
            {"url": "/"},
            {
                "url": "/models/{name}",
                "variables": {"name": {"default": names[0], "enum": list(names)}},
            },
        ],
        "paths": paths,
        "components": {"schemas": schemas},
    }
    if with_key:
        document["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"key": []}]
    return document


def _schemas() -> tuple[dict[str, Any], dict[Any, dict[str, Any]]]:
    """Definitions, and for each type (or its name) the schema that refers to them."""
    kept: dict[str, Any] = {
        "Info": Info,
        "Models": Models,
        "native": NativeError,
        "flat": FlatError,
    }
    inputs: list[tuple[Any, JsonSchemaMode, TypeAdapter[Any]]] = [
        (key, "serialization", TypeAdapter(kind)) for key, kind in kept.items()
    ]
    for one in ENDPOINTS:
        inputs.append(((one.path, "answer"), "serialization", TypeAdapter(one.answer)))
        if one.request is not None:
            inputs.append(((one.path, "request"), "validation", TypeAdapter(one.request)))
    found, definitions = TypeAdapter.json_schemas(inputs, ref_template=_REF)
    return definitions["$defs"], {key: schema for (key, _), schema in found.items()}


def _operation(endpoint: Endpoint, refs: dict[Any, dict[str, Any]]) -> dict[str, Any]:
    error = {"application/json": {"schema": refs[endpoint.shape]}}
    plain = {"text/plain": {"schema": {"type": "string"}}}
    answer = {"application/json": {"schema": refs[endpoint.path, "answer"]}}
    request = refs.get((endpoint.path, "request"), {"type": "object"})
    return {
        "operationId": f"post{endpoint.path.replace('/', '_')}",
        "summary": endpoint.summary,
        "requestBody": {"required": True, "content": {"application/json": {"schema": request}}},
        "responses": {
            "200": {"description": "The answer.", "content": answer},
            "401": {"description": "The key is missing or wrong."},
            **{str(code): _described(text, plain) for code, text in _PLAIN.items()},
            **{str(code): _described(text, plain | error) for code, text in _MIXED.items()},
            **{str(code): _described(text, error) for code, text in _ERRORS.items()},
        },
    }


def _described(text: str, content: dict[str, Any]) -> dict[str, Any]:
    return {"description": text, "content": content}


def _probe(summary: str) -> dict[str, Any]:
    return {
        "summary": summary,
        "security": [],
        "responses": {
            "200": {"description": "All is well; no body."},
            "503": {"description": "A model fails on every input."},
        },
    }


def _told(summary: str, schema: dict[str, Any]) -> dict[str, Any]:
    content = {"application/json": {"schema": schema}}
    return {
        "summary": summary,
        "responses": {
            "200": _described("The answer.", content),
            "401": {"description": "The key is missing or wrong."},
            "503": {"description": "The model cannot be loaded."},
        },
    }


def _metrics() -> dict[str, Any]:
    text = {"text/plain": {"schema": {"type": "string"}}}
    return {
        "summary": "Metrics in Prometheus' text format",
        "security": [],
        "responses": {"200": _described("The metrics of all models.", text)},
    }
