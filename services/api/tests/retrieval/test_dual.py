"""What the lists of two indexes rule out is never among the best."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from ragbase.retrieval.dual import possible_rows

cosines = st.sampled_from([-0.5, 0.0, 0.25, 0.5]) | st.floats(-1, 1)
chunks = st.lists(st.tuples(cosines, st.none() | cosines), max_size=40)


def nearest(scores: dict[int, float], depth: int) -> dict[int, float]:
    order = sorted(scores, key=lambda chunk: (-scores[chunk], chunk))
    return {chunk: scores[chunk] for chunk in order[:depth]}


@given(
    chunks,
    st.floats(0, 1),
    st.integers(1, 30),
    st.integers(1, 12),
    st.sampled_from([-1.0, 0.0, 0.3]),
)
@settings(deadline=None)
def test_the_best_of_the_candidates_are_all_possible(
    found: list[tuple[float, float | None]], weight: float, depth: int, limit: int, threshold: float
) -> None:
    content = nearest({n: first for n, (first, _) in enumerate(found)}, depth)
    context = nearest({n: other for n, (_, other) in enumerate(found) if other is not None}, depth)
    combined = {
        n: weight * found[n][0] + (1 - weight) * (found[n][0] if found[n][1] is None else other)
        for n in content.keys() | context
        for other in [found[n][1] or 0.0]
    }
    wanted = [n for n in combined if combined[n] >= threshold]
    best = sorted(wanted, key=lambda n: (-combined[n], n))[:limit]
    possible = possible_rows(
        content, context, weight=weight, depth=depth, limit=limit, threshold=threshold
    )
    assert set(best) <= set(possible) <= set(combined)


def test_without_contexts_no_more_is_looked_at_than_asked_for() -> None:
    content = {n: 1 - n / 100 for n in range(100)}
    given_ = {"weight": 0.6, "depth": 100, "limit": 20, "threshold": 0.0}
    assert possible_rows(content, {}, **given_) == list(range(20))


def test_most_of_two_long_lists_is_ruled_out() -> None:
    content = {n: 1 - n / 100 for n in range(100)}
    context = {n: 0.9 - n / 100 for n in range(100)}
    given_ = {"weight": 0.6, "depth": 100, "limit": 5, "threshold": 0.0}
    assert possible_rows(content, context, **given_) == list(range(5))


def test_nothing_near_is_nothing() -> None:
    assert possible_rows({}, {}, weight=0.6, depth=10, limit=5, threshold=0.0) == []
    assert possible_rows({1: 0.2}, {}, weight=0.6, depth=10, limit=5, threshold=0.3) == []
