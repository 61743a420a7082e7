"""What of a query reaches the index."""

from __future__ import annotations

from ragbase.retrieval.lexical.query_terms import QUERY_TERMS_MAX, bounded


def test_repeats_stay_and_empty_terms_go() -> None:
    assert bounded(["a", "", "b", "a"]) == ["a", "b", "a"]


def test_terms_after_the_limit_do_not_count() -> None:
    many = [f"t{n}" for n in range(QUERY_TERMS_MAX + 5)]
    assert bounded([*many, "t0"]) == [*many[:QUERY_TERMS_MAX], "t0"]
