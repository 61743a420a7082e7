"""Grouping texts into requests."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ragbase.clients.batches import Batch, batches


@given(st.lists(st.text(max_size=30)), st.integers(1, 7), st.integers(1, 100))
def test_order_is_kept_and_bounds_hold(texts: list[str], most: int, most_bytes: int) -> None:
    found = list(batches(texts, most, most_bytes))
    assert [text for batch in found for text in batch.texts] == texts
    for batch in found:
        assert 1 <= len(batch.texts) <= most
        assert batch.texts[0] == texts[batch.first]
        size = sum(len(text.encode()) for text in batch.texts)
        assert size <= most_bytes or len(batch.texts) == 1


@given(st.lists(st.text(max_size=3), min_size=2), st.integers(0, 9))
def test_halves_are_the_whole(texts: list[str], first: int) -> None:
    left, right = Batch(first, texts).halves()
    assert [*left.texts, *right.texts] == texts
    assert right.first == first + len(left.texts)
    assert left.texts
    assert right.texts
