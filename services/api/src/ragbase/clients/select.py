"""Chooses the embedder that the settings name."""

from __future__ import annotations

from ragbase.clients.embedder import Embedder
from ragbase.clients.openai import OpenAiEmbedder
from ragbase.clients.tei import TeiEmbedder
from ragbase.errors import ConfigurationError
from ragbase.settings import MINILM, Settings

__all__ = ["open_embedder"]


async def open_embedder(settings: Settings) -> Embedder:
    """The embedder in force. Raises `ConfigurationError` when the settings cannot work.

    A remote one is not contacted here, so that a server still starting does not stop us.
    """
    if settings.engine == "onnx":
        return await _in_process(settings)
    if not settings.embedding_url:
        raise ConfigurationError(
            f"RAGBASE_EMBEDDING_ENGINE={settings.engine} needs EMBEDDING_URL, the server's base URL."
        )
    remote = TeiEmbedder if settings.engine == "tei" else OpenAiEmbedder
    return remote(
        settings.embedding_url,
        model=settings.embedding_model,
        api_key=settings.embedding_api_key.get_secret_value(),
        timeout_s=settings.embedding_timeout_s,
        query_prefix=settings.embedding_query_prefix,
        passage_prefix=settings.embedding_passage_prefix,
    )


async def _in_process(settings: Settings) -> Embedder:
    # Imported here: a process that talks to a server needs no ONNX Runtime in memory.
    from ragbase.clients.inprocess import open_inprocess

    return await open_inprocess(
        settings.embedding_model or MINILM,
        threads=settings.embedding_threads,
        query_prefix=settings.embedding_query_prefix,
        passage_prefix=settings.embedding_passage_prefix,
    )
