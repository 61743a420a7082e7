"""The embedding model of stored files: one, whose vectors and indexes the store holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ragbase.clients.embedder import Embedder
from ragbase.errors import ConfigurationError, NotFoundError
from ragbase.limits import LOCALRAG
from ragbase.models.domain import Vectors
from ragbase.retrieval.dual import DualIndex
from ragbase.services.localrag.models import Chosen, LocalModels
from ragbase.services.localrag.notes import Note, stored_instead
from ragbase.storage.embedding_models import EmbeddingModel, ensure_file_model
from ragbase.storage.files import first_vectors, stored_model
from ragbase.storage.pool import Database

__all__ = ["FileModel", "ReadyModel"]

LEAST_LIKENESS = 0.95
"""Mean cosine of a model's vectors with stored ones of the same texts. Eight bits instead of
float32 leave 0.998; models that only share their shape are far below."""


@dataclass(frozen=True, slots=True)
class ReadyModel:
    """The model as requests use it."""

    embedder: Embedder
    model: EmbeddingModel
    index: DualIndex
    notes: list[Note] = field(default_factory=list)


class FileModel:
    """Finds the model by its setting and makes sure that its indexes exist, once a model.

    ``is_default``: nobody chose ``name``, so the served model may stand in.
    """

    def __init__(
        self,
        database: Database,
        models: LocalModels,
        name: str,
        *,
        is_default: bool,
        index_of: Callable[[EmbeddingModel], DualIndex],
        hnsw_m: int,
        hnsw_ef_construction: int,
    ) -> None:
        self._database = database
        self._models = models
        self._name = name
        self._is_default = is_default
        self._index_of = index_of
        self._hnsw_m = hnsw_m
        self._hnsw_ef_construction = hnsw_ef_construction
        self._known: dict[tuple[str, int], tuple[EmbeddingModel, DualIndex]] = {}
        self._borne_out: set[tuple[str, int, str]] = set()

    async def check(self) -> None:
        """Raise `ConfigurationError` where somebody chose another model than the stored vectors'.

        For the start: no model is loaded, so the names alone are compared.
        """
        async with self._database.read() as connection:
            stored = await stored_model(connection)
        chosen = self._name.removesuffix(".gguf")
        if stored is None or self._is_default:
            return
        if chosen not in (stored, stored.removesuffix(".gguf"), stored.rpartition("/")[2]):
            raise ConfigurationError(
                f"The stored files' vectors were made by {stored}, and LOCALRAG_EMBEDDING_MODEL is "
                f"{self._name}. Set it to the former, or delete the collection localrag and store "
                "the files again."
            )

    async def ready(self) -> ReadyModel:
        """The model, loaded or served.

        Raises `NotFoundError` where there is none of the name, and `ConfigurationError` where the
        stored vectors are of another, also of the same name.
        """
        chosen = await self._chosen()
        info = await chosen.model.info()
        key = info.model, info.dimension
        if key not in self._known:
            async with self._database.transaction() as connection:
                model = await ensure_file_model(
                    connection,
                    info.model,
                    info.dimension,
                    hnsw_m=self._hnsw_m,
                    hnsw_ef_construction=self._hnsw_ef_construction,
                )
            # A name that has passed to another dimension has no rows of the former any more.
            self._known = {each: kept for each, kept in self._known.items() if each[0] != key[0]}
            self._known[key] = model, self._index_of(model)
        model, index = self._known[key]
        await self._check_file(chosen, model)
        notes = [chosen.note] if chosen.note is not None else []
        return ReadyModel(chosen.model, model, index, notes)

    async def _chosen(self) -> Chosen[Embedder]:
        """The setting's model. A default, which nobody chose, gives way to the one whose vectors are
        stored: else every call would fail once its file appears."""
        chosen = await self._models.embedder(self._name, default=self._is_default)
        if not self._is_default:
            return chosen
        info = await chosen.model.info()
        if (info.model, info.dimension) in self._known:
            return chosen
        async with self._database.read() as connection:
            stored = await stored_model(connection)
        if stored is None or stored == info.model:
            return chosen
        try:
            kept = await self._models.embedder(stored)
        except NotFoundError:
            return chosen
        return Chosen(kept.model, stored_instead(self._name, stored), version=kept.version)

    async def _check_file(self, chosen: Chosen[Embedder], model: EmbeddingModel) -> None:
        """Raise `ConfigurationError` where a GGUF file is not of the model that made the vectors
        stored under its name. Once a file, and again as long as nothing is stored."""
        if chosen.version is None:
            return
        seen = model.name, model.dimension, chosen.version
        if seen in self._borne_out:
            return
        async with self._database.read() as connection:
            stored = await first_vectors(connection, model.id)
        if not stored:
            return
        made = await chosen.model.embed_texts([content for content, _ in stored])
        if _likeness(made, np.stack([vector for _, vector in stored])) < LEAST_LIKENESS:
            raise ConfigurationError(
                f"The file {model.name} holds another model than the one that made the stored "
                "files' vectors. Put the former file back; or, to change the model, delete the "
                f"collection {LOCALRAG} and store the files again."
            )
        self._borne_out.add(seen)


def _likeness(ours: Vectors, stored: Vectors) -> float:
    """Mean cosine of the rows."""
    norms = np.linalg.norm(ours, axis=1) * np.linalg.norm(stored, axis=1)
    return float(((ours * stored).sum(axis=1) / norms).mean())
