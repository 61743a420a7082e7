"""Long texts and many labels for GLiNER, without GLiNER."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ragbase_inference.backends.gliner_labels import label_groups
from ragbase_inference.backends.gliner_pieces import Span, Word, best_spans, pieces, shifted


def words(*tokens: int) -> list[Word]:
    return [Word(3 * n, 3 * n + 2, count) for n, count in enumerate(tokens)]


def cut(given: list[Word], **limits: int) -> list[tuple[int, int]]:
    """Pieces as numbers of their first and last word."""
    sizes = {"max_words": 4, "max_tokens": 100, "overlap": 1, **limits}
    return [(one.start // 3, one.end // 3) for one in pieces(given, **sizes)]


def test_a_short_text_is_one_piece_and_no_text_is_none() -> None:
    assert cut(words(1, 1, 1)) == [(0, 2)]
    assert cut([]) == []


def test_neighbours_overlap() -> None:
    assert cut(words(*[1] * 9)) == [(0, 3), (3, 6), (6, 8)]
    assert cut(words(*[1] * 9), overlap=2) == [(0, 3), (2, 5), (4, 7), (6, 8)]


def test_tokens_bound_a_piece_too_and_a_longer_word_stands_alone() -> None:
    assert cut(words(5, 5, 5, 200, 5), max_tokens=10) == [(0, 1), (1, 2), (2, 2), (3, 3), (4, 4)]


@given(
    st.lists(st.integers(1, 20), max_size=60),
    st.integers(1, 10),
    st.integers(1, 40),
    st.integers(0, 9),
)
def test_every_stretch_up_to_the_overlap_lies_whole_in_a_piece(
    tokens: list[int], max_words: int, max_tokens: int, overlap: int
) -> None:
    given_words = words(*tokens)
    found = cut(given_words, max_words=max_words, max_tokens=max_tokens, overlap=overlap)
    for first, last in found:
        assert last - first < max_words
        assert first == last or sum(tokens[first : last + 1]) <= max_tokens
    for size in range(1, max(1, min(overlap, max_words)) + 1):
        for start in range(len(tokens) - size + 1):
            if size == 1 or sum(tokens[start : start + size]) <= max_tokens:
                assert any(a <= start and start + size - 1 <= b for a, b in found)


def test_of_spans_that_overlap_the_best_stays() -> None:
    found = [
        Span(0, 5, "person", 0.6),
        Span(3, 8, "city", 0.9),
        Span(8, 9, "city", 0.5),
        Span(20, 22, "dog", 0.2),
        Span(3, 8, "person", 0.9),
    ]
    assert best_spans(found, 0.3) == [Span(3, 8, "city", 0.9), Span(8, 9, "city", 0.5)]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 8), st.integers(0, 9)), max_size=40))
def test_what_stays_is_what_a_plain_search_keeps(drawn: list[tuple[int, int, int]]) -> None:
    spans = [Span(start, start + size, "x", score / 10) for start, size, score in drawn]
    kept: list[Span] = []
    for span in sorted(spans, key=lambda one: (-one.score, one.start, one.end)):
        if span.score >= 0.3 and all(span.end <= o.start or o.end <= span.start for o in kept):
            kept.append(span)
    assert best_spans(spans, 0.3) == sorted(kept, key=lambda one: one.start)


def test_spans_of_a_piece_are_moved_to_its_place() -> None:
    assert shifted([Span(1, 3, "x", 0.5)], 10) == [Span(11, 13, "x", 0.5)]


def test_labels_are_asked_for_in_groups_of_bounded_number_and_size() -> None:
    names = ["a", "b", "c", "d"]
    groups = label_groups(names, [1, 1, 1, 30], max_labels=2, max_tokens=12)
    assert [group.labels for group in groups] == [("a", "b"), ("c",), ("d",)]
    assert [group.tokens for group in groups] == [7, 5, 34]
    assert label_groups([], [], max_labels=2, max_tokens=12) == []
