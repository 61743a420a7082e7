"""Which runs of a query's words may be names."""

from __future__ import annotations

from ragbase.graph.query_words import WORDS_MAX, grams, query_words, runs_of_names
from ragbase.text.languages import stop_words

ENGLISH = stop_words("english")


def runs(query: str) -> list[str]:
    return [gram.text for gram in grams(query_words(query, ENGLISH))]


def names(query: str) -> list[str]:
    words = query_words(query, ENGLISH)
    return [gram.text for gram in runs_of_names(words, [False] * len(words))]


def test_words_are_spelt_as_names_are() -> None:
    words = query_words("Who founded ACME\u00a0Café's “R&D” unit?", ENGLISH)
    assert [word.text for word in words] == ["who", "founded", "acme", "café", "r", "d", "unit"]
    assert [word.text for word in words if word.common] == ["who", "d"] or words[0].common


def test_longest_runs_come_first() -> None:
    found = runs("who runs Acme Corp Berlin")
    assert found.index("acme corp berlin") < found.index("acme corp") < found.index("acme")


def test_a_small_single_word_is_no_name_where_capitals_are_used() -> None:
    assert "state" not in runs("Which state is Pocahontas Mounds in?")
    assert "pocahontas" in runs("Which state is Pocahontas Mounds in?")
    assert "state" in runs("which state is pocahontas mounds in")


def test_a_short_word_is_looked_up_in_longer_names_only() -> None:
    found = runs("Is the API Gateway in the US?")
    assert "api gateway" in found
    assert {"api", "us"}.isdisjoint(found)


def test_runs_neither_begin_nor_end_with_stop_words() -> None:
    assert not [
        run for run in runs("the king of the hill") if run.startswith("of") or run.endswith("the")
    ]


def test_what_is_written_like_a_name_reaches_over_stop_words_and_falls_into_parts() -> None:
    assert names("Who directed The Girl Who Kicked the Hornets' Nest in Sweden?") == [
        "girl who kicked the hornets nest in sweden",
        "girl who kicked",
        "hornets nest",
        "sweden",
    ]


def test_all_capitals_or_none_tell_nothing() -> None:
    assert names("where is acme corp") == []
    assert names("WHERE IS ACME CORP") == []


def test_words_of_scripts_without_spaces_are_tried_at_every_character() -> None:
    found = runs("汉武帝时期的张骞")
    assert "汉武帝" in found
    assert "张骞" in found
    assert "汉" not in found


def test_a_very_long_query_is_looked_at_up_to_a_bound() -> None:
    assert len(query_words("Acme " * 5000, ENGLISH)) == WORDS_MAX
