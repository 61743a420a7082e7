"""Entities that a query names, and how much of the query they cover."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ragbase.graph.query_words import Gram, Word

__all__ = ["Link", "Linked", "MatchMethod", "NamedEntity", "longest_matches"]

MatchMethod = Literal["exact_ci", "alias", "fuzzy_contains", "fuzzy_trigram"]


class NamedEntity(NamedTuple):
    """A row of ``entities`` that a phrase was found to name; ``closeness`` 1 unless fuzzy."""

    id: int
    name: str
    type: str
    method: MatchMethod
    closeness: float = 1.0


class Link(NamedTuple):
    """One entity that one phrase of the query names; ``score`` in 0…1 says how surely."""

    entity: NamedEntity
    phrase: str
    score: float

    @property
    def weight(self) -> float:
        """How much the link counts among others."""
        return self.score * self.entity.closeness


@dataclass(frozen=True, slots=True)
class Linked:
    """All links, by phrase; ``coverage`` is the share of the query's words (without stop words) in
    phrases that name an entity, each counted as surely as it does."""

    links: Sequence[Link] = ()
    coverage: float = 0.0
    phrases: int = 0

    def seeds(self) -> dict[int, float]:
        """Weight of each entity, by id in order of the links; the surest link counts."""
        found: dict[int, float] = {}
        for link in self.links:
            found[link.entity.id] = max(found.get(link.entity.id, 0.0), link.weight)
        return found


def longest_matches(
    grams: Sequence[Gram], known: Mapping[str, object], taken: Sequence[bool]
) -> list[Gram]:
    """The grams that are ``known``, longest first and without overlap, beside what is ``taken``."""
    used = list(taken)
    chosen = []
    for gram in grams:
        if gram.text in known and not any(used[gram.start : gram.end]):
            chosen.append(gram)
            used[gram.start : gram.end] = [True] * (gram.end - gram.start)
    return chosen


def coverage(words: Sequence[Word], sureness: Sequence[float]) -> float:
    """Mean ``sureness`` (one a word, 0 where nothing is named) over the words that are no stop
    words; 0 where there is none."""
    telling = [sure for word, sure in zip(words, sureness, strict=True) if not word.common]
    return sum(telling) / len(telling) if telling else 0.0
