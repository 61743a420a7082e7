"""Who finds a document's facts; `extract_ner` and `extract_llm` are the ways."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from ragbase.errors import RagBaseError
from ragbase.models.extraction import ChunkFacts, ExtractionSource

__all__ = ["Extracted", "Extractor", "Report"]

Report: TypeAlias = Callable[[int, int], None]
"""Told how many of how many chunks are done."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """The facts of each chunk, in order; ``errors`` has one for each chunk that has none because it
    could not be read.
    """

    facts: Sequence[ChunkFacts]
    errors: Sequence[RagBaseError] = ()


class Extractor(Protocol):
    """Finds entities and relations in a document's chunks."""

    @property
    def name(self) -> str:
        """Changes with whatever changes the results; kept beside each document it was used on."""
        ...

    def reads(self, language: str) -> bool:
        """Whether it can be trusted with a collection of this language (its name)."""
        ...

    async def extract(self, source: ExtractionSource, report: Report) -> Extracted:
        """May take minutes; holds no connection meanwhile.

        Raises `UnavailableError` and `UpstreamError` where it makes no sense to go on now.
        """
        ...
