"""Who finds a document's facts; `extract_ner` and `extract_llm` are the ways."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from ragbase.models.extraction import ChunkFacts, ExtractionSource

__all__ = ["Extractor", "Report"]

Report: TypeAlias = Callable[[int, int], None]
"""Told how many of how many chunks are done."""


class Extractor(Protocol):
    """Finds entities and relations in a document's chunks."""

    @property
    def name(self) -> str:
        """Changes with whatever changes the results; kept beside each document it was used on."""
        ...

    def reads(self, language: str) -> bool:
        """Whether it can be trusted with a collection of this language (its name)."""
        ...

    async def extract(
        self, source: ExtractionSource, report: Report = lambda _done, _total: None
    ) -> list[ChunkFacts]:
        """The facts of each chunk, in order. May take minutes; holds no connection meanwhile.

        Raises `UnavailableError` and `UpstreamError` where trying again later may help.
        """
        ...
