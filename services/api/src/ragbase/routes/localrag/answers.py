"""Answers written straight from vectors: no vector becomes a Python list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import orjson
from fastapi import Response

from ragbase.errors import InvalidInputError
from ragbase.services.localrag.files import StoredFile
from ragbase.services.localrag.notes import Note
from ragbase.services.localrag.passages import Passages
from ragbase.services.localrag.query import QueryResult
from ragbase.services.localrag.retrieve import Found

__all__ = ["chunked", "queried", "retrieved", "stored", "written"]


def written(body: dict[str, Any], notes: Iterable[Note] = ()) -> Response:
    """``body`` as JSON; ``warnings`` only where there are any."""
    said = [{"code": note.code, "message": note.message} for note in dict.fromkeys(notes)]
    if said:
        body = {**body, "warnings": said}
    return Response(
        orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY), media_type="application/json"
    )


def chunked(passages: Passages) -> Response:
    """Of `POST /v1/chunk`."""
    chunks = [
        {
            "content": content,
            "context": context,
            "content_embedding": vector,
            **({} if context_vector is None else {"context_embedding": context_vector}),
            "metadata": {"file_id": "", "folder_id": None, "has_context": bool(context)},
            "scores": {"content": 0, "context": 0, "combined": 0},
        }
        for content, context, vector, context_vector in _rows(passages)
    ]
    return written({"chunks": chunks}, passages.notes)


def stored(file: StoredFile, document: str | None) -> Response:
    """Of `POST /v1/store`; ``document`` is repeated in each chunk where it is given."""
    whole = {} if document is None else {"document": document}
    chunks = [
        {
            "content": content,
            "context": context or content,
            "content_embedding": vector,
            "context_embedding": vector if context_vector is None else context_vector,
            "metadata": {
                "file_id": file.file_id,
                "folder_id": file.folder_id,
                "has_context": bool(context),
                "chunk_index": index,
                "timestamp": file.stored_at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
                **whole,
            },
        }
        for index, (content, context, vector, context_vector) in enumerate(_rows(file.passages))
    ]
    folder = {} if file.folder_id is None else {"folder_id": file.folder_id}
    body = {
        "message": "Document chunks processed successfully",
        "file_id": file.file_id,
        **folder,
        "chunks": chunks,
    }
    return written(body, file.notes)


def queried(result: QueryResult) -> Response:
    """Of `POST /v1/query`."""
    rows = []
    for hit in result.hits:
        scores: dict[str, float | None] = {"content": hit.content}
        if hit.chunk.context_embedding:
            scores["context"] = hit.context
        scores["combined"] = hit.combined
        if hit.reranked is not None:
            scores["reranked"] = hit.reranked
        rows.append(
            {
                "content": hit.chunk.content,
                "context": hit.chunk.context,
                "metadata": hit.chunk.metadata,
                "scores": scores,
            }
        )
    try:
        return written({"results": rows}, result.notes)
    except TypeError:  # a lone surrogate, or a number beyond 64 bits, in what is repeated
        raise InvalidInputError(
            "chunks hold text or numbers that JSON cannot carry", field="chunks"
        ) from None


def retrieved(found: Found) -> Response:
    """Of `POST /v1/retrieve`."""
    rows = []
    for place, hit in enumerate(found.hits):
        scores = {
            "content": hit.content_score,
            "context": hit.context_score,
            "combined": hit.combined,
        }
        if found.reranked is not None:
            scores["reranked"] = found.reranked[place]
        rows.append(
            {
                "content": hit.content,
                "context": hit.context,
                "metadata": {"file_id": hit.file_id, "folder_id": hit.folder_id},
                "scores": scores,
            }
        )
    body = {"message": "Chunks retrieved successfully", "results": rows}
    return written(body, found.notes)


def _rows(passages: Passages) -> Iterator[tuple[str, str, Any, Any]]:
    """Content, context, vector, and the context's vector or None, chunk by chunk."""
    context_vectors: Iterator[Any] = iter(passages.context_vectors)
    contents: Sequence[str] = [window.content for window in passages.windows]
    for content, context, vector in zip(contents, passages.contexts, passages.vectors, strict=True):
        yield content, context, vector, next(context_vectors) if context else None
