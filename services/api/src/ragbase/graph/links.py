"""Entities that a query names, and how much of the query they cover."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from ragbase.graph.query_words import Gram

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
    """All links, surest phrase first.

    ``places`` are the words of the query that each phrase stands at, ``words`` is how many words
    the query has; stop words count in neither.
    """

    links: Sequence[Link] = ()
    places: Mapping[str, Sequence[int]] = field(default_factory=dict)
    words: int = 0

    @property
    def phrases(self) -> int:
        """How many phrases name something."""
        return len({link.phrase for link in self.links})

    def seeds(self) -> dict[int, float]:
        """Weight of each entity, by id in order of the links; the surest link counts."""
        found: dict[int, float] = {}
        for link in self.links:
            found[link.entity.id] = max(found.get(link.entity.id, 0.0), link.weight)
        return found

    def coverage(self, telling: Mapping[int, float]) -> float:
        """Share of the query's words that stand in phrases that name an entity, 0…1. Each counts
        as surely as the phrase names it, times how ``telling`` it is (by entity id, 0…1)."""
        sureness: dict[int, float] = {}
        for link in self.links:
            value = link.weight * telling.get(link.entity.id, 0.0)
            for at in self.places.get(link.phrase, ()):
                sureness[at] = max(sureness.get(at, 0.0), value)
        return sum(sureness.values()) / self.words if self.words else 0.0


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
