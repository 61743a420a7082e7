"""Cleans what models say before it is stored: names, types, texts, weights."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

import regex

from ragbase.models.extraction import (
    UNKNOWN,
    ChunkFacts,
    EntityFact,
    NamedEntity,
    NamedFacts,
    NamedRelation,
    RelationFact,
)
from ragbase.text.entity_names import NAME_MAX, display_name, normalise

__all__ = ["DESCRIPTION_MAX", "TYPE_MAX", "clean_facts"]

DESCRIPTION_MAX: Final = 2_000
TYPE_MAX: Final = 64
"""Characters."""
WEIGHT_MAX: Final = 1_000.0

_CONTROL: Final = regex.compile(r"[\p{Cc}\p{Cs}]+")


def clean_facts(facts: ChunkFacts) -> NamedFacts:
    """``facts`` as they can be stored, whatever a model has made of the text.

    Names without a letter or digit, or too long to be names, are left out with their relations, as
    are relations of a thing with itself. A relation's end that was not listed joins as an entity of
    unknown type. Of one entity named twice the first that has a type counts.
    """
    ends = (EntityFact(name) for one in facts.relations for name in (one.source, one.target))
    entities = _entities(facts.entities)
    relations = tuple(_relations(facts.relations))
    related = {name for one in relations for name in (one.source, one.target)}
    missing = {
        name: entity for name, entity in _entities(ends).items() if name in related - set(entities)
    }
    return NamedFacts(facts.chunk_id, tuple((entities | missing).values()), relations)


def _entities(facts: Iterable[EntityFact]) -> dict[str, NamedEntity]:
    found: dict[str, NamedEntity] = {}
    for fact in facts:
        name = _name(fact.name)
        if name is None:
            continue
        normal, kind = normalise(name), _type(fact.type)
        description = _text(fact.description, DESCRIPTION_MAX)
        old = found.setdefault(normal, NamedEntity(normal, name, kind, description))
        if old.type == UNKNOWN and kind != UNKNOWN:
            found[normal] = NamedEntity(normal, old.name, kind, old.description or description)
    return found


def _relations(facts: Iterable[RelationFact]) -> Iterable[NamedRelation]:
    for fact in facts:
        source, target = _name(fact.source), _name(fact.target)
        if source is None or target is None or normalise(source) == normalise(target):
            continue
        yield NamedRelation(
            normalise(source),
            normalise(target),
            _text(fact.keywords, DESCRIPTION_MAX),
            _text(fact.description, DESCRIPTION_MAX),
            _weight(fact.weight),
        )


def _name(raw: str) -> str | None:
    name = display_name(_CONTROL.sub(" ", raw.replace("\x00", "")))
    return name if len(name) <= NAME_MAX and normalise(name) else None


def _type(raw: str) -> str:
    """Lower case, one line: types are words for people, and labels nowhere."""
    return _text(raw, TYPE_MAX).lower() or UNKNOWN


def _text(raw: str, most: int) -> str:
    return " ".join(_CONTROL.sub(" ", raw.replace("\x00", "")).split())[:most].rstrip()


def _weight(raw: float) -> float:
    return min(raw, WEIGHT_MAX) if math.isfinite(raw) and raw > 0 else 1.0
