"""Wires what finds entities: in documents, for the graph; in queries, for the graph arm."""

from __future__ import annotations

from contextlib import AsyncExitStack

from ragbase.clients.ner import Ner
from ragbase.clients.select_ner import select_ner
from ragbase.graph.phrases import LlmPhrases, NerPhrases
from ragbase.ingest.extract_llm import LlmExtractor
from ragbase.ingest.lightrag import installed, lightrag_version
from ragbase.ingest.select_extractor import select_extractor
from ragbase.retrieval.query_names import QueryNames
from ragbase.services.extraction_model import KeptExtractionModel
from ragbase.services.graph_extraction import GraphExtraction
from ragbase.services.llm import LanguageModels
from ragbase.settings import Settings
from ragbase.storage.pool import Database
from ragbase.telemetry.logs import get_logger
from ragbase.text.prompts import Prompts

__all__ = ["open_extraction", "query_names"]

_log = get_logger("ragbase.start")


def open_extraction(
    settings: Settings, database: Database, llms: LanguageModels, stack: AsyncExitStack
) -> GraphExtraction:
    """What brings documents into the graph; models are loaded with the first job."""
    ner: Ner | None = None
    if settings.extraction in ("auto", "ner"):
        ner = select_ner(settings)
    if ner is not None:
        stack.push_async_callback(ner.aclose)
    extractor = select_extractor(
        settings.extraction, ner=ner, llm=_llm_extractor(settings, database, llms)
    )
    _log.info("graph_extraction", by="off" if extractor is None else extractor.name)
    return GraphExtraction(database, extractor, attempts=settings.job_attempts)


def _llm_extractor(
    settings: Settings, database: Database, llms: LanguageModels
) -> LlmExtractor | None:
    if settings.extraction not in ("auto", "llm") or not llms.offers("extraction"):
        return None
    if not installed():
        _log.warning(
            "extraction_without_llm", hint="Install the extra `lightrag` to extract by the LLM."
        )
        return None
    model = KeptExtractionModel(database, llms, kept=settings.llm_cache_days > 0)
    return LlmExtractor(
        model, lightrag=lightrag_version(), gleaning=settings.llm_extraction_gleaning
    )


def query_names(
    settings: Settings, llms: LanguageModels, prompts: Prompts, stack: AsyncExitStack
) -> QueryNames:
    """The models that find names in queries: GLiNER behind RAGBASE_NER_URL, and an LLM on request."""
    ner = select_ner(settings) if settings.ner_url else None
    if ner is not None:
        stack.push_async_callback(ner.aclose)
    return QueryNames(
        NerPhrases(ner, settings.graph_ner_timeout_s) if ner is not None else None,
        LlmPhrases(llms, prompts, settings.graph_linker_timeout_s)
        if llms.offers("linking")
        else None,
    )
