"""Search in chunks that the caller sends along; nothing is stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ragbase.errors import RagBaseError, TooLargeError
from ragbase.models.domain import Vector
from ragbase.models.localrag import QueryChunk, QueryIn
from ragbase.services.localrag.models import LocalModels
from ragbase.services.localrag.notes import QUERY_CUT, Note
from ragbase.text.clean import clean_text

__all__ = ["QueryHit", "QueryResult", "QueryService", "checked_query", "rerank_candidates"]


class VectorsUnusableError(RagBaseError):
    """Chunks whose vectors cannot be compared; the contract's own texts and its status 500."""

    code = "vectors_unusable"


def checked_query(query: str, most_chars: int) -> str:
    """``query`` as models take it. Raises `TooLargeError`, `InvalidInputError`."""
    if len(query) > most_chars:
        raise TooLargeError(
            f"query has {len(query)} characters; at most {most_chars} are taken "
            "(RAGBASE_MAX_QUERY_CHARS).",
            code="query_too_long",
        )
    return clean_text(query, "query")


def rerank_candidates(top_k: int) -> int:
    """How many of the best chunks a reranker scores."""
    return max(4 * top_k, 20)


@dataclass(frozen=True, slots=True)
class QueryHit:
    """A chunk of the request with its scores; None: of a vector of zeros, or not worked out."""

    chunk: QueryChunk
    content: float | None
    context: float | None
    combined: float | None
    reranked: float | None = None


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The best chunks, best first."""

    hits: list[QueryHit]
    notes: list[Note] = field(default_factory=list)


class QueryService:
    """``weight`` is the content's share of the combined score."""

    def __init__(
        self, models: LocalModels, *, weight: float, max_chunks: int, query_chars: int
    ) -> None:
        self._models = models
        self._weight = weight
        self._max_chunks = max_chunks
        self._query_chars = query_chars

    async def query(self, body: QueryIn) -> QueryResult:
        """The ``top_k`` best chunks. Raises `NotFoundError` for a model, `VectorsUnusableError`."""
        if len(body.chunks) > self._max_chunks:
            raise TooLargeError(
                f"{len(body.chunks)} chunks were sent; at most {self._max_chunks} are taken "
                "(LOCALRAG_MAX_CHUNKS).",
                code="too_many_chunks",
            )
        query = checked_query(body.query, self._query_chars)
        chosen = await self._models.embedder(body.embedding_model)
        reranker = None
        if body.reranker_model and body.should_rerank:
            reranker = (await self._models.reranker(body.reranker_model)).model
        if not body.chunks:
            return QueryResult([])
        vector, cut = await chosen.model.embed_query(query)
        notes = [QUERY_CUT] if cut else []
        hits = self._scored(vector, body.chunks)
        if reranker is None:
            return QueryResult(hits[: body.top_k], notes)
        head = hits[: rerank_candidates(body.top_k)]
        readable = [hit for hit in head if hit.chunk.content.strip()]
        blank = [hit for hit in head if not hit.chunk.content.strip()]
        scores = await reranker(query, [hit.chunk.content for hit in readable])
        ranked = [_with_rerank(hit, score) for hit, score in zip(readable, scores, strict=True)]
        ranked.sort(key=lambda hit: -(hit.reranked or 0.0))  # stable: equal ones by `combined`
        return QueryResult([*ranked, *blank][: body.top_k], notes)

    def _scored(self, vector: Vector, chunks: Sequence[QueryChunk]) -> list[QueryHit]:
        contents = _cosines(vector, [_content_vector(chunk) for chunk in chunks])
        placed = [number for number, chunk in enumerate(chunks) if chunk.context_embedding]
        found = _cosines(vector, [chunks[number].context_embedding or [] for number in placed])
        contexts = dict(zip(placed, found, strict=True))
        hits = []
        for number, (chunk, content) in enumerate(zip(chunks, contents, strict=True)):
            context = contexts.get(number)
            combined = content
            if context is not None:
                combined = self._weight * content + (1.0 - self._weight) * context
            hits.append(QueryHit(chunk, _number(content), _number(context), _number(combined)))
        return sorted(hits, key=lambda hit: np.inf if hit.combined is None else -hit.combined)


def _content_vector(chunk: QueryChunk) -> list[float]:
    if chunk.content_embedding is None:
        raise VectorsUnusableError("Chunk missing content embedding")
    return chunk.content_embedding


def _cosines(vector: Vector, rows: Sequence[list[float]]) -> list[float]:
    """Cosine of ``vector`` with each row; NaN for a row of zeros."""
    if any(len(row) != len(vector) for row in rows):
        raise VectorsUnusableError("Vectors must have the same length")
    if not rows:
        return []
    matrix: NDArray[np.float64] = np.array(rows, dtype=np.float64)
    query = vector.astype(np.float64)
    scale = np.abs(matrix).max(axis=1, keepdims=True)  # squares of huge numbers overflow
    with np.errstate(invalid="ignore", divide="ignore"):
        matrix = matrix / scale
        cosines = matrix @ query / (np.linalg.norm(matrix, axis=1) * np.linalg.norm(query))
    return [float(value) for value in cosines]


def _number(value: float | None) -> float | None:
    return None if value is None or np.isnan(value) else value


def _with_rerank(hit: QueryHit, score: float) -> QueryHit:
    return QueryHit(hit.chunk, hit.content, hit.context, hit.combined, score)
