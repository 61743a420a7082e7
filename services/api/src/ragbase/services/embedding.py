"""The embedder together with its row in the database."""

from __future__ import annotations

import asyncio

from ragbase.clients.embedder import Embedder, EmbedderInfo
from ragbase.errors import (
    ConfigurationError,
    EmbedderUnavailableError,
    OverloadedError,
    UnavailableError,
    UpstreamError,
)
from ragbase.storage.embedding_models import EmbeddingModel, ensure_model
from ragbase.storage.pool import Database
from ragbase.telemetry.logs import get_logger

__all__ = ["EmbeddingRuntime"]

_RETRY_S = 2.0
_RETRY_MISMATCH_S = 30.0
"""A server with the wrong model needs a person; asked again, so that mending it needs no restart."""


class EmbeddingRuntime:
    """Joins the embedder with the index its vectors live in.

    Not ready until embedder and database have both answered once; what needs vectors raises
    `EmbedderUnavailableError` until then, and keyword search works meanwhile.
    """

    def __init__(
        self,
        embedder: Embedder,
        database: Database,
        *,
        hnsw_m: int = 16,
        hnsw_ef_construction: int = 64,
    ) -> None:
        self.embedder = embedder
        self._database = database
        self._hnsw = (hnsw_m, hnsw_ef_construction)
        self._model: EmbeddingModel | None = None
        self._info: EmbedderInfo | None = None
        self.missing = "The embedding server has not answered yet."
        """Why there is no model yet, for people."""
        self._log = get_logger("ragbase.embedding")

    @property
    def ready(self) -> bool:
        """Whether vectors can be made and searched."""
        return self._model is not None

    @property
    def model(self) -> EmbeddingModel:
        """The stored model row. Raises `EmbedderUnavailableError` before the first contact."""
        if self._model is None:
            raise EmbedderUnavailableError(self.missing)
        return self._model

    @property
    def info(self) -> EmbedderInfo:
        """Facts of the model. Raises `EmbedderUnavailableError` before the first contact."""
        if self._info is None:
            raise EmbedderUnavailableError(self.missing)
        return self._info

    async def open(self) -> None:
        """Ask the embedder for its facts and make sure its index exists.

        Raises `ConfigurationError` when the model contradicts what is stored.
        """
        info = await self.embedder.info()
        m, ef_construction = self._hnsw
        async with self._database.transaction() as connection:
            model = await ensure_model(
                connection,
                info.model,
                info.dimension,
                hnsw_m=m,
                hnsw_ef_construction=ef_construction,
            )
        self._info, self._model = info, model
        self._log.info("embedder_ready", model=info.model, dimension=info.dimension)

    async def keep_trying(self) -> None:
        """Open, again and again while the embedder is away. Ends once it is open."""
        while not self.ready:
            try:
                await self.open()
            except ConfigurationError as error:
                self.missing = error.message
                self._log.error("embedder_does_not_fit", reason=error.message)
                await asyncio.sleep(_RETRY_MISMATCH_S)
            except (UnavailableError, UpstreamError, OverloadedError) as error:
                self.missing = f"The embedding server is not usable yet. {error.message}"
                self._log.warning("embedder_not_ready", code=error.code, reason=error.message)
                await asyncio.sleep(_RETRY_S)
