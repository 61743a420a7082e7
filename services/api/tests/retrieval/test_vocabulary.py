"""Runs stand where `str.split` finds them, and memory has a bound."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragbase.retrieval.vocabulary import RUN_MAX, Reading, Vocabulary

SPACES = [chr(code) for code in range(0x110000) if chr(code).isspace()]


def placed(known: Vocabulary, content: str) -> Reading:
    known.read(content)
    reading = known.read(content)
    assert isinstance(reading, Reading)
    return reading


@given(st.text(st.sampled_from([*SPACES, "a", "é", "😀", "\u200b", "\u3001", "\ufeff"])))
def test_runs_are_those_between_white_space(content: str) -> None:
    known = Vocabulary("english")
    numbers, starts = placed(known, content).places.tolist()
    assert [known.run(number) for number in numbers] == content.split()
    assert starts == [match.start() for match in re.finditer(r"\S+", content)]


def test_places_are_kept_of_what_is_met_again() -> None:
    known = Vocabulary("english")
    assert known.read("one two two") == ["one", "two", "two"]
    second = known.read("one two two")
    assert isinstance(second, Reading)
    assert known.read("one " + "two two") is second
    assert second.places[1].tolist() == [0, 4, 8]


def test_of_long_runs_only_the_place_is_kept() -> None:
    known = Vocabulary("english")
    reading = known.read(f"a {'x' * (RUN_MAX + 1)} b")
    assert isinstance(reading, Reading)
    assert reading.long == [(2, RUN_MAX + 3)]
    assert reading.places[1].tolist() == [0, RUN_MAX + 4]
    assert len(known) == 2


@pytest.mark.parametrize("bound", ["_RUNS_MAX", "_PLACES_MAX"])
def test_a_page_is_kept_whole_and_what_is_too_much_goes_before_the_next(
    bound: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"ragbase.retrieval.vocabulary.{bound}", 4)
    known = Vocabulary("english")
    known.make_room()
    first = placed(known, "a b c")
    placed(known, "d e f")
    assert known.read("a b c") is first
    known.make_room()
    assert known.read("a b c") is not first
    assert [known.run(number) for number in placed(known, "c d").places[0]] == ["c", "d"]


def test_contents_of_long_runs_alone_are_forgotten_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragbase.retrieval.vocabulary._PLACES_MAX", 4)
    known = Vocabulary("english")
    first = known.read("京" * (RUN_MAX + 1))
    known.read("都" * (RUN_MAX + 1))
    known.make_room()
    assert known.read("京" * (RUN_MAX + 1)) is not first
