"""Spans become entities and relations without any model."""

from __future__ import annotations

from ragbase.clients.ner import NerSpan
from ragbase.ingest.cooccurrence import RELATION, SENTENCE_ENTITIES, facts_of_spans
from ragbase.models.extraction import ChunkFacts, EntityFact, RelationFact, SourceChunk


def facts(text: str, *names: tuple[str, str], title: str = "T") -> ChunkFacts:
    """Of one chunk in which every occurrence of each name is a span of its type."""
    spans = []
    for name, kind in names:
        start = text.find(name)
        while start >= 0:
            spans.append(NerSpan(start, start + len(name), kind))
            start = text.find(name, start + 1)
    spans.sort(key=lambda span: span.start)
    [found] = facts_of_spans(title, [SourceChunk(9, text)], [spans])
    return found


def test_spellings_of_a_chunk_are_one_entity_of_its_commonest_type() -> None:
    found = facts(
        "Acme grew. ACME fell. the Acme's end.",
        ("Acme", "organization"),
        ("ACME", "product"),
        ("the Acme's", "organization"),
    )
    assert found.chunk_id == 9
    assert found.entities[0] == EntityFact("Acme", "organization")
    assert [fact.name for fact in found.entities] == ["Acme", "T"]


def test_the_title_is_an_entity_of_every_chunk_with_the_type_that_the_text_gives_it() -> None:
    chunks = [SourceChunk(1, "Ada Lovelace wrote."), SourceChunk(2, "Nothing here.")]
    found = facts_of_spans("Ada Lovelace", chunks, [[NerSpan(0, 12, "person")], []])
    assert [one.entities for one in found] == [(EntityFact("Ada Lovelace", "person"),)] * 2
    [unknown] = facts_of_spans("Harbour rules", chunks[1:], [[]])
    assert unknown.entities == (EntityFact("Harbour rules", "title"),)


def test_names_in_one_sentence_are_related_whatever_their_order() -> None:
    found = facts(
        "Bob met Ada. Ada left Bob! Carl slept.\nAda rose",
        ("Bob", "person"),
        ("Ada", "person"),
        ("Carl", "person"),
    )
    assert found.relations == (RelationFact("Ada", "Bob", RELATION, weight=2.0),)


def test_a_list_of_names_relates_only_its_first() -> None:
    names = [f"Name{chr(65 + number)}" for number in range(20)]
    found = facts(", ".join(names), *((name, "person") for name in names))
    assert len(found.entities) == 21
    assert len(found.relations) == SENTENCE_ENTITIES * (SENTENCE_ENTITIES - 1) // 2


def test_numbers_and_sentences_are_no_names() -> None:
    long = "word " * 80
    found = facts(f"12,000 and {long}end", ("12,000", "product"), (f"{long}end", "work"))
    assert [fact.name for fact in found.entities] == ["T"]


def test_small_articles_are_no_part_of_a_name_and_large_ones_are() -> None:
    found = facts(
        "in the United States, The Beatles",
        ("the United States", "location"),
        ("The Beatles", "group"),
    )
    assert [fact.name for fact in found.entities][:2] == ["United States", "The Beatles"]


def test_a_title_without_letters_names_nothing() -> None:
    assert facts("Acme.", ("Acme", "organization"), title="***").entities == (
        EntityFact("Acme", "organization"),
    )
