"""Wires the second API: over the same database, embedder, rerankers and language models."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path
from typing import get_args

from ragbase.clients.gguf import GgufKind, GgufModels
from ragbase.clients.inprocess_gguf import open_gguf
from ragbase.clients.select_llm import open_llm
from ragbase.retrieval.dual import DualIndex
from ragbase.services.embedding import EmbeddingRuntime
from ragbase.services.known_collections import KnownCollections
from ragbase.services.llm import LanguageModels, LlmServer, PurposeModel
from ragbase.services.localrag.contexts import ContextRules, ContextService
from ragbase.services.localrag.file_model import FileModel
from ragbase.services.localrag.files import FileService
from ragbase.services.localrag.models import ANSWER_TOKENS, PURPOSE, LocalModels
from ragbase.services.localrag.passages import PassageService
from ragbase.services.localrag.query import QueryService
from ragbase.services.localrag.retrieve import RetrieveService
from ragbase.services.localrag.services import LocalragServices
from ragbase.services.rerankers import Rerankers
from ragbase.settings import Settings
from ragbase.settings.llm import LlmSpec
from ragbase.storage.embedding_models import EmbeddingModel
from ragbase.storage.pool import Database
from ragbase.telemetry.logs import get_logger
from ragbase.text.prompts import Prompts

__all__ = ["open_localrag"]

_log = get_logger("ragbase.localrag")

RERANK_S = 3600.0
"""Where the settings bound no ranking; each reranker has a bound of its own."""
PARALLEL_SPLITS = 2
OPENAI_CHARACTERS = 16_000
"""Longest answer, thinking included."""


def open_localrag(
    settings: Settings,
    database: Database,
    embedding: EmbeddingRuntime,
    rerankers: Rerankers,
    llms: LanguageModels,
    prompts: Prompts,
    stack: AsyncExitStack,
    gguf: GgufModels | None = None,
) -> LocalragServices:
    """The use cases, closed with ``stack``. No model is loaded yet.

    ``gguf`` are the models to use instead of those that the settings name; their owner closes them.
    """
    if gguf is None:
        _make_folders(settings.models_dir)
        gguf = open_gguf(settings)
        stack.push_async_callback(gguf.aclose)
    chosen = settings.model_fields_set
    openai = _openai_models(settings)
    if openai is not None:
        stack.push_async_callback(openai.aclose)
    elif llms.offers(PURPOSE):
        openai = llms
    models = LocalModels(
        gguf,
        embedding,
        rerankers,
        llms,
        rerank_timeout_s=settings.rerank_timeout_s or RERANK_S,
        context_timeout_s=settings.localrag_context_timeout_s,
    )

    def index_of(model: EmbeddingModel) -> DualIndex:
        return DualIndex(
            model,
            weight=settings.localrag_content_weight,
            candidates=settings.localrag_candidates,
            ef_search=settings.ef_search,
        )

    contexts = ContextService(models, prompts, _context_rules(settings, chosen), openai)
    passages = PassageService(
        contexts,
        max_chunks=settings.localrag_max_chunks,
        text_chars=settings.max_text_chars,
        parallel_splits=PARALLEL_SPLITS,
    )
    model = FileModel(
        database,
        models,
        settings.localrag_embedding_model,
        is_default="localrag_embedding_model" not in chosen,
        index_of=index_of,
        hnsw_m=settings.hnsw_m,
        hnsw_ef_construction=settings.hnsw_ef_construction,
    )
    known = KnownCollections(database)
    return LocalragServices(
        models=models,
        passages=passages,
        queries=QueryService(
            models,
            weight=settings.localrag_content_weight,
            max_chunks=settings.localrag_max_chunks,
            query_chars=settings.max_query_chars,
        ),
        files=FileService(database, passages, model, known),
        retrieval=RetrieveService(
            database,
            models,
            model,
            known,
            reranker=settings.localrag_reranker_model,
            is_default="localrag_reranker_model" not in chosen,
            query_chars=settings.max_query_chars,
        ),
    )


def _make_folders(models: Path) -> None:
    """As the original does; where it may not, there are no files, and that is all."""
    try:
        for kind in get_args(GgufKind):
            (models / kind).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        _log.warning("no_model_folders", folder=str(models), reason=error.strerror)


def _context_rules(settings: Settings, chosen: set[str]) -> ContextRules:
    return ContextRules(
        chat_model=settings.localrag_chat_model,
        is_default="localrag_chat_model" not in chosen,
        parallel=settings.localrag_context_parallel,
        timeout_s=settings.localrag_context_timeout_s,
        document_tokens=settings.localrag_context_document_tokens,
    )


def _openai_models(settings: Settings) -> LanguageModels | None:
    """What `useOpenAI` asks: OpenAI by its key, else nothing of its own."""
    key = settings.localrag_openai_api_key.get_secret_value()
    if not key:
        return None
    spec = LlmSpec(
        prefix="LOCALRAG_OPENAI",
        url=settings.localrag_openai_base_url,
        model=settings.localrag_openai_model_name,
        api_key=key,
        timeout_s=settings.localrag_context_timeout_s,
        concurrency=settings.localrag_context_parallel,
        max_output_tokens=ANSWER_TOKENS,
    )
    server = LlmServer("openai", open_llm(spec, settings))
    model = PurposeModel(
        PURPOSE,
        server,
        timeout_s=spec.timeout_s,
        concurrency=spec.concurrency,
        characters=OPENAI_CHARACTERS,
        max_output_tokens=spec.max_output_tokens,
        temperature=0.0,
        partial=True,
    )
    return LanguageModels({PURPOSE: model})
