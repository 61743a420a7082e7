"""Highlights are the places whose terms the query has, however they are written."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragbase.retrieval.highlight import HIGHLIGHTS_MAX, highlights
from ragbase.text.analyse import analyser


def marked(content: str, query: str, language: str = "english") -> list[str]:
    found = analyser(language)
    [spans] = highlights([content], found.query_terms(query), found)
    return [content[start:end] for start, end in spans]


def reference(content: str, terms: list[str], language: str) -> list[tuple[int, int]]:
    """By analysing all of the content at once."""
    covered = [False] * len(content)
    joined = [False] * len(content)  # position is inside or at the end of a span that goes on
    for term, start, end in analyser(language).tokens(content):
        if term in terms:
            for position in range(start, end):
                covered[position] = True
            for position in range(start + 1, end):
                joined[position] = True
    spans: list[tuple[int, int]] = []
    for position, inside in enumerate(covered):
        if inside and spans and spans[-1][1] == position:
            spans[-1] = (spans[-1][0], position + 1)
        elif inside:
            spans.append((position, position + 1))
    return spans


def test_inflected_forms_are_marked_where_they_stand() -> None:
    content = "Layers, layered cakes;\nthe LAYER of a player\u00a0layer."
    assert marked(content, "layers") == ["Layers", "layered", "LAYER", "layer"]


def test_stop_words_of_the_query_are_not_marked() -> None:
    assert marked("the boundary of the layer", "the layer of what") == ["layer"]


def test_a_query_without_terms_marks_nothing() -> None:
    assert marked("C++ and more", "?! …") == []
    assert marked("", "word") == []


@pytest.mark.parametrize(
    ("content", "query", "expected"),
    [
        ("use C++ or C#, not C", "c++", ["C++"]),
        ("état café", "cafe", ["café"]),
        ("cafe\u0301 and ＣＡＦＥ", "café", ["cafe\u0301", "ＣＡＦＥ"]),
        ("a state-of-the-art tool", "state", ["state"]),
        ("(layer) [layer] “layer”", "layer", ["layer"] * 3),
        ("今日は東京都に行く", "東京都", ["東京都"]),
        ("東京都。京都", "京都", ["京都", "京都"]),
        ("x" * 5000 + " needle " + "y" * 5000, "needle", ["needle"]),
    ],
)
def test_spans_cover_the_text_as_written(content: str, query: str, expected: list[str]) -> None:
    assert marked(content, query) == expected


def test_long_text_without_spaces_is_marked_too() -> None:
    content = "机器学习是人工智能的一个分支，使用Python编程。" * 20
    assert marked(content, "人工智能 python") == ["人工智能", "Python"] * 20
    assert marked(content, "智") == ["智"] * 20


def test_a_long_query_costs_no_more_than_the_text() -> None:
    """A page of Chinese has thousands of terms."""
    query = "".join(chr(0x4E00 + n) for n in range(8000))
    content = ("，".join(chr(0x4E00 + n) * 3 + chr(0x4E01 + n) for n in range(100)) + "。") * 2
    started = time.process_time()
    spans = marked(content, query)
    assert time.process_time() - started < 2
    assert spans[0] == "一丁"


def test_touching_and_overlapping_matches_are_one_span() -> None:
    found = analyser("english")
    assert highlights(["日本語"], ["日本", "本語"], found) == [[(0, 3)]]
    assert highlights(["ab ab"], ["ab"], found) == [[(0, 2), (3, 5)]]


def test_the_number_of_spans_is_limited() -> None:
    [spans] = highlights(["word " * 1000], ["word"], analyser("english"))
    assert len(spans) == HIGHLIGHTS_MAX
    assert spans[-1] == (5 * HIGHLIGHTS_MAX - 5, 5 * HIGHLIGHTS_MAX - 1)


PIECES = [
    *(
        "Layer",
        "layers",
        "layer's",
        "re-layer",
        " C++ ",
        " .NET ",
        "a.b",
        "1,000",
        "getUserName",
        "é",
    ),
    *("cafe\u0301", "ﬁt", "…", "layer—layer", "東京", "京都", "都", "タワー", "สวัสดี", "Straße"),
    *(" ", " ", "\n", "\u00a0", "\u3000", ",", "。", "-", "_", "'", "😀", "\u00ad", "İ", "x" * 70),
]
pieces = st.sampled_from(PIECES)


@given(
    st.lists(st.lists(pieces, max_size=25).map("".join), max_size=3),
    st.lists(pieces, min_size=1, max_size=4).map(" ".join),
    st.sampled_from(["english", "german", "simple"]),
)
@settings(max_examples=200, deadline=None)
def test_spans_are_those_of_analysing_the_whole(
    contents: list[str], query: str, language: str
) -> None:
    terms: Any = analyser(language).query_terms(query)
    expected = [reference(content, terms, language) for content in contents]
    for _ in range(3):  # contents are met for the first time, the second, and known
        assert highlights(contents, terms, analyser(language)) == expected


def test_a_content_read_before_is_marked_for_another_query() -> None:
    content = "The boundary layer of a flat plate, heated."
    assert marked(content, "layers") == ["layer"]
    assert marked(content, "plates heating") == ["plate", "heated"]
    assert marked(content, "layers") == ["layer"]


@pytest.mark.parametrize("bound", ["_RUNS_MAX", "_PLACES_MAX"])
def test_what_was_read_is_forgotten_when_it_is_much(
    bound: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"ragbase.retrieval.vocabulary.{bound}", 5)
    contents = [f"word{n} layer{n} plate" for n in range(9)]
    for _ in range(4):
        for n, content in enumerate(contents):
            assert marked(content, f"layer{n}") == [f"layer{n}"]
            assert marked(content, "plates") == ["plate"]
