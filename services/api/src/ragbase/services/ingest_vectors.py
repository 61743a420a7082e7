"""The vectors of a document's chunks: those it has already, and new ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from ragbase.models.domain import ChunkDraft, Vector, Vectors
from ragbase.services.embedding import EmbeddingRuntime
from ragbase.storage import documents as store
from ragbase.storage.pool import Database
from ragbase.telemetry.metrics import observe_ingest_stage

__all__ = ["PassageVectors"]

EMBEDDED_AT_ONCE = 512
"""Texts between two reports of progress; many batches of any embedder."""
Report: TypeAlias = Callable[[int, int], None]
"""Told how many texts are embedded, of how many."""


class PassageVectors:
    """Makes vectors; holds no connection meanwhile."""

    def __init__(self, database: Database, embedding: EmbeddingRuntime) -> None:
        self._database = database
        self._embedding = embedding

    async def of(
        self, chunks: Sequence[ChunkDraft], *, replaces: int | None, report: Report
    ) -> Vectors:
        """Vectors in chunk order; those of chunks that document ``replaces`` has are re-used."""
        if not chunks:
            return np.zeros((0, self._embedding.info.dimension), dtype=np.float32)
        known = await self._known(replaces)
        missing = [c.indexed_content for c in chunks if c.indexed_content not in known]
        made = {**known, **await self._embed(missing, report)}
        return np.stack([made[chunk.indexed_content] for chunk in chunks])

    async def _embed(self, texts: list[str], report: Report) -> dict[str, Vector]:
        made: dict[str, Vector] = {}
        if not texts:
            return made
        with observe_ingest_stage("embed"):
            for start in range(0, len(texts), EMBEDDED_AT_ONCE):
                report(start, len(texts))
                part = texts[start : start + EMBEDDED_AT_ONCE]
                vectors = await self._embedding.embedder.embed_passages(part)
                made.update(zip(part, vectors, strict=True))
        return made

    async def _known(self, replaces: int | None) -> Mapping[str, Vector]:
        if replaces is None:
            return {}
        async with self._database.read() as connection:
            return await store.vectors_by_indexed_content(
                connection, replaces, self._embedding.model.id
            )
