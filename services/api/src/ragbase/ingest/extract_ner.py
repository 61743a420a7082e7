"""Facts by a model that finds names: entities, related where they stand together."""

from __future__ import annotations

from itertools import islice
from typing import Final

import regex

from ragbase.clients.ner import Ner, NerSpan
from ragbase.ingest.cooccurrence import facts_of_spans
from ragbase.ingest.extract import Extracted, Report
from ragbase.models.extraction import ExtractionSource
from ragbase.text.languages import language_code, latin_only

__all__ = ["NerExtractor"]

_AT_ONCE: Final = 64
"""Chunks between two reports."""
_LETTER: Final = regex.compile(r"\p{L}")
_LATIN: Final = regex.compile(r"\p{Latin}")
_SAMPLE: Final = 400


class NerExtractor:
    """An `Extractor` by a `Ner`.

    A model of one language makes up names in texts of another. So it is kept from collections that
    are declared in another, and from chunks that are not even in its script.
    """

    def __init__(self, ner: Ner) -> None:
        self._ner = ner
        self.name = f"ner: {ner.info.name}"

    def reads(self, language: str) -> bool:
        """See `Extractor.reads`. ``simple`` says nothing of the language, so it is not refused."""
        own, code = self._ner.info.language, language_code(language)
        return not own or not code or own == code

    async def extract(self, source: ExtractionSource, report: Report) -> Extracted:
        """See `Extractor.extract`."""
        spans: list[list[NerSpan]] = []
        total = len(source.chunks)
        texts = (self._readable(chunk.content) for chunk in source.chunks)
        while some := list(islice(texts, _AT_ONCE)):
            spans += await self._ner.spans(some)
            report(len(spans), total)
        return Extracted(facts_of_spans(source.title, source.chunks, spans))

    def _readable(self, text: str) -> str:
        if not latin_only(self._ner.info.language):
            return text
        letters = len(_LETTER.findall(text[:_SAMPLE]))
        return text if 2 * len(_LATIN.findall(text[:_SAMPLE])) >= letters else ""
