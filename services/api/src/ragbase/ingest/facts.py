"""Cleans what models say before it is stored: names, types, texts, weights."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

import regex

from ragbase.models.extraction import UNKNOWN, ChunkFacts, EntityFact, RelationFact
from ragbase.text.entity_names import NAME_MAX, display_name, normalise

__all__ = ["DESCRIPTION_MAX", "TYPE_MAX", "clean_facts"]

DESCRIPTION_MAX: Final = 2_000
TYPE_MAX: Final = 64
"""Characters."""
WEIGHT_MAX: Final = 1_000.0

_CONTROL: Final = regex.compile(r"[\p{Cc}\p{Cs}]+")


def clean_facts(facts: ChunkFacts) -> ChunkFacts:
    """``facts`` as they can be stored, whatever a model has made of the text.

    Names without a letter or digit, or too long to be names, are left out with their relations, as
    are relations of a thing with itself. A relation's end that was not listed joins as an entity of
    unknown type. Of one entity named twice the first that has a type counts.
    """
    relations = list(_relations(facts.relations))
    ends = (EntityFact(name) for one in relations for name in (one.source, one.target))
    return ChunkFacts(facts.chunk_id, _entities((*facts.entities, *ends)), tuple(relations))


def _entities(facts: Iterable[EntityFact]) -> tuple[EntityFact, ...]:
    found: dict[str, EntityFact] = {}
    for fact in facts:
        name = _name(fact.name)
        if name is None:
            continue
        clean = EntityFact(name, _type(fact.type), _text(fact.description, DESCRIPTION_MAX))
        old = found.setdefault(normalise(name), clean)
        if old.type == UNKNOWN and clean.type != UNKNOWN:
            found[normalise(name)] = EntityFact(
                old.name, clean.type, old.description or clean.description
            )
    return tuple(found.values())


def _relations(facts: Iterable[RelationFact]) -> Iterable[RelationFact]:
    for fact in facts:
        source, target = _name(fact.source), _name(fact.target)
        if source is None or target is None or normalise(source) == normalise(target):
            continue
        yield RelationFact(
            source,
            target,
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
