"""Cutting long texts for tokenisers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ragbase.clients.slices import slices


@given(st.text(alphabet="ab \n　é漢😀", max_size=300), st.integers(1, 40))
def test_slices_are_the_whole_text(text: str, most: int) -> None:
    places = list(slices(text, most))
    assert "".join(text[start:end] for start, end in places) == text
    assert all(0 < end - start <= most for start, end in places)


@given(st.lists(st.text(alphabet="abc", min_size=1, max_size=8), max_size=80))
def test_no_word_is_cut_where_there_is_white_space(words: list[str]) -> None:
    text = " ".join(words)
    found = [word for start, end in slices(text, 40) for word in text[start:end].split()]
    assert found == words


def test_text_without_spaces_is_cut_anyway() -> None:
    assert list(slices("漢" * 10, 4)) == [(0, 4), (4, 8), (8, 10)]
