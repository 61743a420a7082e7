"""Facts by a language model: each chunk is a question of its own, so that one that goes wrong takes
no other with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Final, Protocol

from ragbase.clients.llm import Message
from ragbase.errors import LlmInputTooLongError, RagBaseError, UpstreamError
from ragbase.ingest.extract import Extracted, Report
from ragbase.ingest.lightrag import extract_chunk
from ragbase.models.extraction import ChunkFacts, EntityFact, ExtractionSource, SourceChunk
from ragbase.text.entity_names import normalise
from ragbase.text.languages import UNSTEMMED

__all__ = ["ExtractionModel", "LlmExtractor", "grounded"]

_REFUSED: Final = "llm_refused"
"""Wrong key, address or model name: the next question would be refused too."""


class ExtractionModel(Protocol):
    """The language model as extraction uses it."""

    @property
    def name(self) -> str:
        """Of the model."""
        ...

    @property
    def concurrency(self) -> int:
        """Questions at once."""
        ...

    async def ask(
        self, system: str, prompt: str, history: Sequence[Message], *, document_id: int
    ) -> str:
        """See `ragbase.ingest.lightrag.Ask`; answers may be kept for the document."""
        ...


class LlmExtractor:
    """An `Extractor` by LightRAG's prompt."""

    def __init__(self, model: ExtractionModel, *, lightrag: str, gleaning: int = 0) -> None:
        self._model = model
        self._lightrag = lightrag
        self._gleaning = gleaning

    @property
    def name(self) -> str:
        """See `Extractor.name`."""
        return f"llm: {self._model.name} (LightRAG {self._lightrag})"

    def reads(self, language: str) -> bool:  # noqa: ARG002 - language models read any
        """See `Extractor.reads`."""
        return True

    async def extract(self, source: ExtractionSource, report: Report) -> Extracted:
        """See `Extractor.extract`. A model that is away, or refuses, ends it; answers so far are
        kept, and cost nothing when it is begun again.
        """
        work = _Work(source, report)
        hands = max(1, min(self._model.concurrency, len(source.chunks)))
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(hands):
                    group.create_task(self._work(work))
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        return Extracted([work.found[chunk.id] for chunk in source.chunks], work.errors)

    async def _work(self, work: _Work) -> None:
        for chunk in work.waiting:
            try:
                facts = await self._facts(work.source, chunk)
            except (LlmInputTooLongError, UpstreamError) as error:
                if error.code == _REFUSED:
                    raise
                work.errors.append(error)
                facts = ChunkFacts(chunk.id)
            work.put(facts)

    async def _facts(self, source: ExtractionSource, chunk: SourceChunk) -> ChunkFacts:
        async def ask(system: str, prompt: str, history: Sequence[Message]) -> str:
            return await self._model.ask(system, prompt, history, document_id=source.document_id)

        found = await extract_chunk(
            chunk, ask, language=_language(source.language), gleaning=self._gleaning
        )
        return grounded(found, chunk.content, source.title)


class _Work:
    """The chunks of one document under way."""

    def __init__(self, source: ExtractionSource, report: Report) -> None:
        self.source = source
        self.waiting: Iterator[SourceChunk] = iter(source.chunks)
        self.found: dict[int, ChunkFacts] = {}
        self.errors: list[RagBaseError] = []
        self._report = report

    def put(self, facts: ChunkFacts) -> None:
        self.found[facts.chunk_id] = facts
        self._report(len(self.found), len(self.source.chunks))


def grounded(facts: ChunkFacts, content: str, title: str) -> ChunkFacts:
    """Without entities of which no word stands in the chunk, and without their relations.

    Small models copy names out of the prompt or make some up; a text that tells the model what to
    answer gets no further than its own words.
    """
    text = f" {normalise(title)} {normalise(content)} "
    entities = [entity for entity in facts.entities if _stands(entity, text)]
    names = {normalise(entity.name) for entity in entities}
    relations = [
        relation
        for relation in facts.relations
        if {normalise(relation.source), normalise(relation.target)} <= names
    ]
    return ChunkFacts(facts.chunk_id, entities, relations)


def _stands(entity: EntityFact, text: str) -> bool:
    words = normalise(entity.name).split()
    long = [word for word in words if len(word) > 1] or words
    return any(word in text for word in long)


def _language(name: str) -> str:
    """As the prompt calls it; what is not said is left to the text."""
    if not name or (name in UNSTEMMED and not UNSTEMMED[name]):
        return "the language of the input text"
    return name.capitalize()
