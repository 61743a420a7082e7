"""Answers of the second API, as its OpenAPI document describes them.

Routes write them by hand (`ragbase.routes.localrag.answers`): a thousand vectors as Python lists
would take many times their memory.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from ragbase.models.localrag import ModelType

__all__ = [
    "ChunkAnswer",
    "DeleteAnswer",
    "FilesAnswer",
    "Message",
    "ModelRow",
    "ObjectError",
    "QueryAnswer",
    "RetrieveAnswer",
    "StoreAnswer",
    "StringError",
    "Warned",
]


class Note(BaseModel):
    """Something the caller should know of how the answer came to be."""

    code: str
    message: str


class Warned(BaseModel):
    """An answer; ``warnings`` is there only where there are any."""

    warnings: list[Note] = Field(default_factory=list)


class StringError(BaseModel):
    """An error of the routes that store, search, list, delete, load and unload."""

    error: str


class ErrorObject(BaseModel):
    """What is wrong; ``param`` is the field at fault, where there is one."""

    message: str
    type: str
    param: str | None
    code: str | None


class ObjectError(BaseModel):
    """An error of the routes that store nothing, and of the list of models."""

    error: ErrorObject


class Scores(BaseModel):
    """Cosines; ``combined`` is 0.6 · content + 0.4 · context, null for a vector of zeros."""

    content: float | None
    context: float | None = None
    combined: float | None
    reranked: float | None = None


class MadeChunk(BaseModel):
    """A chunk with its vectors; ``context_embedding`` only where there is a context."""

    content: str
    context: str
    content_embedding: list[float]
    context_embedding: list[float] | None = None
    metadata: dict[str, Any]
    scores: Scores | None = None


class ChunkAnswer(Warned):
    """Of `POST /v1/chunk`."""

    chunks: list[MadeChunk]


class StoreAnswer(Warned):
    """Of `POST /v1/store`."""

    message: str
    file_id: str
    folder_id: str | None = None
    chunks: list[MadeChunk]


class FoundChunk(BaseModel):
    """A row of a search."""

    content: str
    context: str
    metadata: Any
    scores: Scores


class QueryAnswer(Warned):
    """Of `POST /v1/query`."""

    results: list[FoundChunk]


class RetrieveAnswer(QueryAnswer):
    """Of `POST /v1/retrieve`."""

    message: str


class FileRow(BaseModel):
    """A stored file, with its first chunk."""

    file_id: str
    folder_id: str | None
    content_preview: str
    context_preview: str


class Pagination(BaseModel):
    """Where the page lies."""

    current_page: int
    total_pages: int
    total_items: int
    page_size: int


class FilesAnswer(BaseModel):
    """Of `GET /v1/documents`."""

    message: str
    data: list[FileRow]
    pagination: Pagination


class DeleteAnswer(BaseModel):
    """Of `POST /v1/delete`."""

    message: str
    file_id: str


class Message(BaseModel):
    """Of the routes that load and unload."""

    message: str


class ModelRow(BaseModel):
    """A model that requests may name."""

    name: str
    type: ModelType
    loaded: bool
