"""Links a query to the entities that it names.

The lexical linker always runs and needs no model: every run of words is looked up among the
names, longest first; then what is written like a name and was not found is looked up by likeness.
Phrases that a model found (`PhraseFinder`) are looked up the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from ragbase.graph.entity_names import find_alike, find_named
from ragbase.graph.links import Link, Linked, NamedEntity, longest_matches
from ragbase.graph.query_words import Gram, Word, grams, joined, query_words, runs_of_names
from ragbase.models.domain import Collection
from ragbase.storage.pool import Connection
from ragbase.text.entity_names import normalise
from ragbase.text.languages import stop_words

__all__ = ["ALIKE_MAX", "PER_PHRASE", "Phrase", "PhraseFinder", "link", "words_of"]

ALIKE_MAX: Final = 3
"""Entities that a search takes of one phrase found by likeness only."""
PER_PHRASE: Final = 8
"""The same of graph search, as the contract has it."""
RUNS_MAX: Final = 6
"""Phrases of a query that are looked up by likeness: each costs a search of the trigram index."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """A part of the query that a model takes for a name, and how sure it is, 0…1."""

    text: str
    score: float = 1.0


class PhraseFinder(Protocol):
    """A model that finds the names in a query."""

    async def phrases(self, query: str, labels: Sequence[str]) -> list[Phrase]:
        """The names, surest first. ``labels``: types to look for; empty: the usual ones.

        Raises `UnavailableError` (`DeadlineExceededError` when late) or `UpstreamError`.
        """
        ...


def words_of(query: str, collections: Sequence[Collection]) -> list[Word]:
    """The query's words; what any of the collections' languages calls a stop word is one."""
    languages = {collection.language for collection in collections}
    return query_words(query, frozenset().union(*map(stop_words, languages)))


async def link(
    connection: Connection,
    collection_ids: Sequence[int],
    words: Sequence[Word],
    phrases: Sequence[Phrase] = (),
    *,
    fuzzy: bool = True,
    max_phrases: int = 32,
    alike: int = ALIKE_MAX,
) -> Linked:
    """The entities that ``words`` and ``phrases`` name, surest phrase first.

    A phrase that is some entity's name or alias names it, and nothing by likeness. Without
    ``fuzzy`` (or without pg_trgm) nothing is found by likeness. At most ``max_phrases`` phrases
    that name something count.
    """
    runs = grams(words)
    given = {text: phrase for phrase in phrases if (text := normalise(phrase.text))}
    names = list(dict.fromkeys([*(gram.text for gram in runs), *given]))
    named = await find_named(connection, collection_ids, names)
    chosen = longest_matches(runs, named, [False] * len(words))
    taken = _taken(chosen, len(words))
    looks = runs_of_names(words, taken)
    unknown = _unknown(looks, given, named)
    found = {gram.text: named[gram.text] for gram in chosen}
    found |= {text: named[text] for text in given if text in named}
    if fuzzy and unknown:
        alike_by = await find_alike(connection, collection_ids, unknown, limit=alike)
        found |= {text: alike_by[text] for text in _outermost(alike_by, looks)}
    return _linked(words, found, given, max_phrases)


def _unknown(
    looks: Sequence[Gram], given: Mapping[str, Phrase], named: Mapping[str, object]
) -> list[str]:
    """What looks like a name and is none that is known, the models' first."""
    texts = dict.fromkeys([*given, *(gram.text for gram in looks)])
    return [text for text in texts if text not in named][:RUNS_MAX]


def _outermost(found: Mapping[str, object], looks: Sequence[Gram]) -> list[str]:
    """Phrases that found something, without parts of a run that did so as a whole."""
    whole = [gram for gram in looks if gram.text in found]
    inner = {
        gram.text
        for gram in whole
        for other in whole
        if other.start <= gram.start and gram.end <= other.end and other.text != gram.text
    }
    return [text for text in found if text not in inner]


def _taken(chosen: Sequence[Gram], count: int) -> list[bool]:
    taken = [False] * count
    for gram in chosen:
        taken[gram.start : gram.end] = [True] * (gram.end - gram.start)
    return taken


def _linked(
    words: Sequence[Word],
    found: Mapping[str, Sequence[NamedEntity]],
    given: Mapping[str, Phrase],
    max_phrases: int,
) -> Linked:
    def score(phrase: str) -> float:
        return given[phrase].score if phrase in given else 1.0

    def place(phrase: str) -> tuple[float, int, str]:
        closest = max(entity.closeness for entity in found[phrase])
        return -score(phrase) * closest, -len(phrase), phrase

    kept = sorted(found, key=place)[:max_phrases]
    return Linked(
        links=[Link(entity, phrase, score(phrase)) for phrase in kept for entity in found[phrase]],
        places={phrase: _telling(words, phrase) for phrase in kept},
        words=sum(not word.common for word in words),
    )


def _telling(words: Sequence[Word], phrase: str) -> list[int]:
    """Where words of the phrase stand that are no stop words."""
    spans = _places(words, phrase)
    return sorted({at for start, end in spans for at in range(start, end) if not words[at].common})


def _places(words: Sequence[Word], phrase: str) -> list[tuple[int, int]]:
    """Where the phrase stands among the words."""
    size = len(phrase.split())
    if any(word.glued for word in words):
        return _places_in_run(words, phrase)
    return [
        (start, start + size)
        for start in range(len(words) - size + 1)
        if joined(words[start : start + size]) == phrase
    ]


def _places_in_run(words: Sequence[Word], phrase: str) -> list[tuple[int, int]]:
    """As `_places` where characters are words: no longer than the phrase has characters."""
    return [
        (start, end)
        for start in range(len(words))
        for end in range(start + 1, min(len(words), start + len(phrase)) + 1)
        if joined(words[start:end]) == phrase
    ]
