"""Which extractor is in force, by the settings and what is at hand."""

from __future__ import annotations

from ragbase.clients.ner import Ner
from ragbase.errors import ConfigurationError
from ragbase.ingest.extract import Extractor
from ragbase.ingest.extract_ner import NerExtractor
from ragbase.models.extraction import ExtractionMode

__all__ = ["select_extractor"]


def select_extractor(
    mode: ExtractionMode, *, ner: Ner | None, llm: Extractor | None
) -> Extractor | None:
    """``auto``: the LLM if there is one, else a NER model if there is one, else None.

    Raises `ConfigurationError` where what ``mode`` names is not there.
    """
    if mode == "off":
        return None
    if mode in ("auto", "llm") and llm is not None:
        return llm
    if mode == "llm":
        raise ConfigurationError(
            "RAGBASE_EXTRACTION=llm needs a language model (LLM_BASE_URL, LLM_MODEL) and the extra "
            "`lightrag`."
        )
    if ner is None:
        if mode == "ner":
            raise ConfigurationError(
                "RAGBASE_EXTRACTION=ner needs a NER model: install the extra `ner`, name an "
                "installed spaCy model (RAGBASE_NER_MODEL), or give RAGBASE_NER_URL."
            )
        return None
    return NerExtractor(ner)
