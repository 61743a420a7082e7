"""What the routes answer, for the OpenAPI document."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

__all__ = [
    "EmbeddingsAnswer",
    "FlatError",
    "Info",
    "Models",
    "NativeError",
    "NerAnswer",
    "Prediction",
    "Rank",
    "RankedDocuments",
    "Token",
]

Vector = list[float]


class NativeError(BaseModel):
    """An error of most routes."""

    error: str
    error_type: Literal["Validation", "Empty", "Tokenizer", "Backend", "Overloaded", "Unhealthy"]


class FlatError(BaseModel):
    """An error of the routes under ``/v1`` and of ``/embeddings``."""

    message: str
    code: int
    type: Literal["Validation", "Empty", "Tokenizer", "Backend", "Overloaded", "Unhealthy"]


class Usage(BaseModel):
    """Tokens, after truncation."""

    prompt_tokens: int
    total_tokens: int


class EmbeddingItem(BaseModel):
    """One vector: numbers, or little-endian float32 in base64."""

    object: Literal["embedding"]
    embedding: Vector | str
    index: int


class EmbeddingsAnswer(BaseModel):
    """OpenAI's list of embeddings."""

    object: Literal["list"]
    data: list[EmbeddingItem]
    model: str
    usage: Usage


class Rank(BaseModel):
    """One text with its score; the list is sorted by score."""

    index: int
    text: str | None = Field(None, description="Only with return_text.")
    score: float


class RankedDocument(BaseModel):
    """One document with its relevance; the list is sorted by it."""

    index: int
    relevance_score: float
    document: dict[str, str] | None = Field(None, description="Only with return_documents.")


class RankedDocuments(BaseModel):
    """What clients of Jina's and Cohere's rerankers read."""

    id: str
    object: Literal["list"]
    model: str
    results: list[RankedDocument]
    usage: Usage
    meta: dict[str, Any]


class Prediction(BaseModel):
    """One label with its probability."""

    score: float
    label: str


class Token(BaseModel):
    """One token; start and stop are bytes of the text in UTF-8."""

    id: int
    text: str
    special: bool
    start: int | None
    stop: int | None


class EntitySpan(BaseModel):
    """``text[start:end]`` bears the label; start and end are code points."""

    start: int
    end: int
    text: str
    label: str
    score: float


class TextSpans(BaseModel):
    """Spans of one text in order of their start."""

    index: int
    spans: list[EntitySpan]


class NerAnswer(BaseModel):
    """Spans of all texts."""

    object: Literal["list"]
    model: str
    results: list[TextSpans]


class Info(BaseModel):
    """TEI's fields, then ours."""

    model_id: str
    model_sha: str | None
    model_dtype: str
    served_model_name: str
    model_type: dict[str, Any]
    max_concurrent_requests: int
    max_input_length: int
    max_batch_tokens: int
    max_batch_requests: int | None
    max_client_batch_size: int
    auto_truncate: bool
    tokenization_workers: int
    version: str
    sha: str | None
    docker_label: str | None
    name: str
    backend: str
    device: str
    dimension: int | None
    state: Literal["unloaded", "loading", "loaded", "unloading"]
    memory_bytes: int


class ListedModel(BaseModel):
    """One model of the process."""

    id: str
    object: Literal["model"]
    created: int
    owned_by: str
    model: str
    revision: str | None
    path: str
    state: Literal["unloaded", "loading", "loaded", "unloading"]
    memory_bytes: int
    kind: Literal["embedding", "reranker", "classifier", "ner"] | None = Field(
        description="Null until the model was loaded once."
    )
    device: str | None
    dtype: str | None
    max_input_length: int | None
    dimension: int | None


class Models(BaseModel):
    """OpenAI's list of models."""

    object: Literal["list"]
    data: list[ListedModel]
