"""From named spans to facts: entities of a chunk, related where a sentence names both.

The method needs no language model. A relation says that two names stand in one sentence; its weight
counts the chunk's sentences that do so. It has no direction, so the names are put in order and all
documents that tell of a pair share one relation. The sentences are not stored with it: they stand
in the chunk, and lists of names would repeat them for each pair.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final

import regex

from ragbase.clients.ner import NerSpan
from ragbase.models.extraction import TITLE, ChunkFacts, EntityFact, RelationFact, SourceChunk
from ragbase.text.entity_names import NAME_MAX, display_name, normalise

__all__ = ["RELATION", "facts_of_spans"]

RELATION: Final = "named together"
"""The keyword of relations that are found so."""
SENTENCE_ENTITIES: Final = 8
"""Entities of a sentence that are related with one another; lists would give pairs without end."""
CHUNK_RELATIONS: Final = 64

_SENTENCE_END: Final = regex.compile(
    r"(?<=[.!?…]['\"\u2019\u201D)\]]*)\s+(?=\P{Ll})|(?<=[。！？])|\s*\n\s*"
)
_ARTICLE: Final = regex.compile(r"(?:the|an?)\s+(?=\w)")
"""Small letters: models count it to the name, people do not. "The Beatles" keep theirs."""
_NUMERIC: Final = regex.compile(r"[\d\s.,:/%+-]*")


@dataclass(slots=True)
class _Found:
    """An entity of one chunk."""

    name: str
    types: Counter[str] = field(default_factory=Counter)

    def type(self) -> str:
        return min(self.types, key=lambda kind: (-self.types[kind], kind))


def facts_of_spans(
    title: str, chunks: Sequence[SourceChunk], spans: Sequence[Sequence[NerSpan]]
) -> list[ChunkFacts]:
    """The facts of each chunk out of its spans; its document's title is one of its entities.

    Spans that are numbers, or longer than a name can be, name nothing.
    """
    found = [_entities(chunk.content, own) for chunk, own in zip(chunks, spans, strict=True)]
    heading = _title_entity(title, found)
    return [
        ChunkFacts(
            chunk.id,
            _facts(entities, heading),
            tuple(_relations(chunk.content, own, entities)),
        )
        for chunk, own, entities in zip(chunks, spans, found, strict=True)
    ]


def _entities(text: str, spans: Sequence[NerSpan]) -> dict[str, _Found]:
    """By normalised name, in order of appearance; the first spelling is shown."""
    found: dict[str, _Found] = {}
    for span in spans:
        name = _name(text, span)
        if name is not None:
            found.setdefault(normalise(name), _Found(name)).types[span.type] += 1
    return found


def _name(text: str, span: NerSpan) -> str | None:
    name = display_name(text[span.start : span.end])
    article = _ARTICLE.match(name)
    name = name[article.end() :] if article else name
    usable = len(name) <= NAME_MAX and normalise(name) and not _NUMERIC.fullmatch(name)
    return name if usable else None


def _title_entity(title: str, found: Sequence[dict[str, _Found]]) -> tuple[str, EntityFact] | None:
    """The title as an entity, with the type that the text gives to this name."""
    name = display_name(title)
    normal = normalise(name)
    if not normal or len(name) > NAME_MAX:
        return None
    types: Counter[str] = Counter()
    for entities in found:
        if normal in entities:
            types.update(entities[normal].types)
    kind = min(types, key=lambda kind: (-types[kind], kind), default=TITLE)
    return normal, EntityFact(name, kind)


def _facts(
    entities: dict[str, _Found], heading: tuple[str, EntityFact] | None
) -> tuple[EntityFact, ...]:
    facts = tuple(EntityFact(found.name, found.type()) for found in entities.values())
    if heading is None or heading[0] in entities:
        return facts
    return (*facts, heading[1])


def _relations(
    text: str, spans: Sequence[NerSpan], entities: dict[str, _Found]
) -> Iterator[RelationFact]:
    pairs: Counter[tuple[str, str]] = Counter()
    for names in _by_sentence(text, spans):
        for one, other in combinations(names[:SENTENCE_ENTITIES], 2):
            pairs[min(one, other), max(one, other)] += 1
    for (one, other), sentences in pairs.most_common(CHUNK_RELATIONS):
        yield RelationFact(
            entities[one].name, entities[other].name, RELATION, weight=float(sentences)
        )


def _by_sentence(text: str, spans: Sequence[NerSpan]) -> Iterator[list[str]]:
    """The distinct normalised names in each sentence that has two or more, in order."""
    start = 0
    for end in (*(match.end() for match in _SENTENCE_END.finditer(text)), len(text)):
        inside = [span for span in spans if start <= span.start < end]
        names = [normalise(name) for span in inside if (name := _name(text, span)) is not None]
        if len(set(names)) > 1:
            yield list(dict.fromkeys(names))
        start = end
