"""What models say is cleaned before it is stored."""

from __future__ import annotations

import math

import pytest

from ragbase.ingest.facts import TYPE_MAX, clean_facts
from ragbase.models.extraction import ChunkFacts, EntityFact, NamedEntity, RelationFact


def test_an_entity_named_twice_is_one_with_the_first_type_that_says_something() -> None:
    facts = ChunkFacts(
        1,
        [
            EntityFact("Acme"),
            EntityFact("ACME ", "Company", "Makes  anvils."),
            EntityFact("acme", "band"),
        ],
    )
    assert clean_facts(facts).entities == (NamedEntity("acme", "Acme", "company", "Makes anvils."),)


def test_ends_of_relations_join_the_entities() -> None:
    found = clean_facts(ChunkFacts(1, [EntityFact("A1", "x")], [RelationFact("A1", "The B1")]))
    assert [(one.normal_name, one.type) for one in found.entities] == [
        ("a1", "x"),
        ("b1", "unknown"),
    ]
    assert [(one.source, one.target) for one in found.relations] == [("a1", "b1")]


@pytest.mark.parametrize("name", ["", "\x00", "!!!", "x" * 257, "\ud800"])
def test_what_is_no_name_goes_with_its_relations(name: str) -> None:
    found = clean_facts(ChunkFacts(1, [EntityFact(name)], [RelationFact(name, "Acme")]))
    assert (found.entities, found.relations) == ((), ())


@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        ("x`) DETACH DELETE (n", "x`) detach delete (n"),
        ("a, b c", "a, b c"),
        ("🚢", "🚢"),
        ("", "unknown"),
        ("k" * 1000, "k" * TYPE_MAX),
        ("per\x00son\n", "person"),
    ],
)
def test_types_are_text_of_one_bounded_line(kind: str, stored: str) -> None:
    """B087: a type is never a label or a piece of a statement, only a value."""
    assert clean_facts(ChunkFacts(1, [EntityFact("A1", kind)])).entities[0].type == stored


@pytest.mark.parametrize(
    ("weight", "stored"), [(2.5, 2.5), (math.nan, 1.0), (math.inf, 1.0), (-3, 1.0), (1e9, 1000.0)]
)
def test_weights_are_finite_positive_and_bounded(weight: float, stored: float) -> None:
    facts = ChunkFacts(1, [], [RelationFact("A1", "B1", weight=weight)])
    assert clean_facts(facts).relations[0].weight == stored
