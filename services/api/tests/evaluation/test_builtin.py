"""The shipped set keeps the promises of its README."""

from __future__ import annotations

import pytest

from ragbase.evaluation.ablation import HEADER_FAMILY, strip_headings
from ragbase.evaluation.builtin import builtin_dataset
from ragbase.evaluation.dataset import Dataset, JudgedDocument, JudgedQuery
from ragbase.text.analyse import analyser

FAMILIES = {
    "polysemy",
    "paraphrase",
    "rare-jargon",
    "multi-hop",
    "header-path",
    "distractors",
    "exact",
}


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return builtin_dataset()


def relevant(dataset: Dataset, query: JudgedQuery) -> list[JudgedDocument]:
    grades = dataset.qrels[query.id]
    return [document for document in dataset.documents if grades.get(document.id, 0) > 0]


def of_family(dataset: Dataset, family: str) -> list[JudgedQuery]:
    return [query for query in dataset.queries if query.family == family]


def test_it_is_whole(dataset: Dataset) -> None:
    assert len(dataset.documents) >= 60
    assert len(dataset.queries) >= 60
    assert dataset.blank_documents == dataset.unjudged_queries == 0
    assert set(dataset.families) == FAMILIES
    known = {document.id for document in dataset.documents}
    assert all(set(grades) <= known for grades in dataset.qrels.values())
    assert set(dataset.qrels) == {query.id for query in dataset.queries}


def test_documents_are_of_moderate_length(dataset: Dataset) -> None:
    lengths = {document.id: len(document.text.split()) for document in dataset.documents}
    assert {name: words for name, words in lengths.items() if not 80 <= words <= 250} == {}


def test_paraphrases_share_no_word_with_their_document(dataset: Dataset) -> None:
    english = analyser("english")
    shared = {
        query.text: set(english.query_terms(query.text))
        & set(english.terms(f"{document.title} {document.text}"))
        for query in of_family(dataset, "paraphrase")
        for document in relevant(dataset, query)
    }
    assert shared
    assert not any(shared.values()), shared


def test_header_words_stand_in_headings_only(dataset: Dataset) -> None:
    english = analyser("english")
    for query in of_family(dataset, HEADER_FAMILY):
        (document,) = relevant(dataset, query)
        asked = set(english.query_terms(query.text))
        body = set(english.terms(f"{document.title} {strip_headings(document.text)}"))
        assert asked & set(english.terms(document.text)), query.text
        assert not asked & body, query.text


def test_multi_hop_needs_several_documents(dataset: Dataset) -> None:
    assert all(len(relevant(dataset, query)) >= 2 for query in of_family(dataset, "multi-hop"))


def test_exact_names_stand_in_their_document_alone(dataset: Dataset) -> None:
    for query in of_family(dataset, "exact"):
        holders = [document.id for document in dataset.documents if query.text in document.text]
        assert holders == [document.id for document in relevant(dataset, query)], query.text


def test_both_splits_have_every_family(dataset: Dataset) -> None:
    for split in ("even", "odd"):
        assert {query.family for query in dataset.select(split)} == FAMILIES  # type: ignore[arg-type]
