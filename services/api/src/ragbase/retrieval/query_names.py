"""Asks the models that find names in a query; what fails is a warning, and the search goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ragbase.errors import DeadlineExceededError, RagBaseError
from ragbase.graph.linking import Phrase, PhraseFinder
from ragbase.retrieval.trace import Trace

__all__ = ["QueryNames"]


class QueryNames:
    """The finders there are: ``ner`` is asked by every search, ``llm`` where the request says so."""

    def __init__(self, ner: PhraseFinder | None = None, llm: PhraseFinder | None = None) -> None:
        self._ner = ner
        self._llm = llm

    @property
    def has_ner(self) -> bool:
        """Whether a NER model is asked."""
        return self._ner is not None

    async def find(
        self, query: str, trace: Trace, *, labels: Sequence[str] = (), llm: bool = False
    ) -> list[Phrase]:
        """Names by all that are asked, the NER model's first. Never raises for a model's sake."""
        finders: list[tuple[str, PhraseFinder]] = []
        if self._ner is not None:
            finders.append(("ner", self._ner))
        if llm and self._llm is not None:
            finders.append(("linker", self._llm))
        elif llm:
            trace.warn(
                "linker_unavailable",
                "No language model is configured on this server; names were looked up as they "
                "stand in the query.",
                "graph",
            )
        found = await asyncio.gather(
            *(_ask(name, finder, query, labels, trace) for name, finder in finders)
        )
        return [phrase for phrases in found for phrase in phrases]


async def _ask(
    name: str, finder: PhraseFinder, query: str, labels: Sequence[str], trace: Trace
) -> list[Phrase]:
    try:
        return await finder.phrases(query, labels)
    except RagBaseError as error:
        late = isinstance(error, DeadlineExceededError)
        trace.fail(
            f"{name}_timeout" if late else f"{name}_unavailable",
            f"Names in the query were found without a model. {error.message}",
            "graph",
        )
        return []
