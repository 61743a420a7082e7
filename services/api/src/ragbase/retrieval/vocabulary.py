"""What was read in one language: which words there are, which terms they have, where they stand.

A *run* is what stands between white space. Segments never hold white space, so a run can be analysed
without its neighbours, and most runs of a text have been seen before. Long ones (scripts without
spaces, encoded data) are rarely seen twice: of those only the place is kept.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragbase.text.analyse import Token, analyser

__all__ = ["RUN_MAX", "Reading", "Vocabulary", "vocabulary"]

RUN_MAX: Final = 64
"""Longest run that is remembered, in characters."""
_RUNS_MAX: Final = 50_000
_PLACES_MAX: Final = 1_000_000
"""Places kept of all contents together, and one more for each: 8 MB."""

# White space as `str.split` has it; no code point above the last of these is any.
_SPACE: Final = np.array([chr(code).isspace() for code in range(0x3002)])


class Reading(NamedTuple):
    """Where the runs of a content stand: ``places`` has shape (2, n), numbers of runs above their
    starts; ``long`` are the starts and ends of long runs."""

    places: NDArray[np.uint32]
    long: list[tuple[int, int]]


class Vocabulary:
    """The runs of one language, numbered as they were first seen."""

    def __init__(self, language: str) -> None:
        self._analyser = analyser(language)
        self._met: set[int] = set()
        self._readings: dict[int, Reading] = {}
        self._places = 0
        self._runs: list[str] = []
        self._known: set[str] = set()
        self._numbers: dict[str, int] = {}
        self._with_term: defaultdict[str, list[int]] = defaultdict(list)
        self._tokens: dict[str, tuple[Token, ...]] = {}

    def __len__(self) -> int:
        return len(self._runs)

    def make_room(self) -> None:
        """Forget what is too much to keep: numbers of runs hold until this is called again."""
        if max(len(self._runs), len(self._tokens)) >= _RUNS_MAX:
            for memory in (
                self._runs, self._known, self._numbers, self._with_term, self._tokens, self._met
            ):  # fmt: skip
                memory.clear()
            self._places = _PLACES_MAX
        if self._places >= _PLACES_MAX:
            self._readings.clear()
            self._places = 0
        if len(self._met) >= _RUNS_MAX:
            self._met.clear()

    def read(self, content: str) -> Reading | list[str]:
        """Learn the content's runs. At the first meeting these are returned, as they come; later
        ones find them where they stand, which is worth its cost for contents that are met often.

        Contents with long runs are read thoroughly at once.
        """
        key = hash(content)
        reading = self._readings.get(key)
        if reading is not None:
            return reading
        runs = content.split()
        if self._learn(runs) and key not in self._met:
            self._met.add(key)
            return runs
        reading = self._readings[key] = self._placed(content, runs)
        self._places += 1 + reading.places.shape[1] + len(reading.long)
        return reading

    def _learn(self, runs: Sequence[str]) -> bool:
        """False where there are long ones."""
        if self._known.issuperset(runs):
            return True
        unknown = set(runs) - self._known
        for run in unknown:
            if len(run) <= RUN_MAX:
                self._known.add(run)
                self._numbers[run] = number = len(self._runs)
                self._runs.append(run)
                for term in set(self._analyser.terms(run)):
                    self._with_term[term].append(number)
        return unknown <= self._known

    def _placed(self, content: str, runs: Sequence[str]) -> Reading:
        starts = _starts(content)
        places = np.empty((2, len(runs)), np.uint32)
        try:
            places[0] = array("I", map(self._numbers.__getitem__, runs))
        except KeyError:  # a long run
            ends = (starts + [len(run) for run in runs]).tolist()
            spans = list(zip(runs, starts.tolist(), ends, strict=True))
            short = [(self._numbers[run], at) for run, at, _ in spans if run in self._known]
            long = [(at, end) for run, at, end in spans if run not in self._known]
            return Reading(np.array(short, np.uint32).reshape(-1, 2).T, long)
        places[1] = starts
        return Reading(places, [])

    def having(self, terms: Iterable[str]) -> list[int]:
        """Numbers of the runs that have one of the terms; some may come twice."""
        return [number for term in terms for number in self._with_term.get(term, ())]

    def run(self, number: int) -> str:
        """The run of a number."""
        return self._runs[number]

    def tokens(self, run: str) -> tuple[Token, ...]:
        """Terms of a run with their places; remembered, for what matches once matches again."""
        tokens = self._tokens.get(run)
        if tokens is None:
            tokens = tuple(self._analyser.tokens(run))
            if len(run) <= RUN_MAX:
                self._tokens[run] = tokens
        return tokens


def _starts(content: str) -> NDArray[np.int64]:
    """Where the parts that ``content.split()`` gives stand."""
    codes = np.frombuffer(content.encode("utf-32-le", "surrogatepass"), np.uint32)
    space = _SPACE.take(codes, mode="clip")
    begins = ~space
    begins[1:] &= space[:-1]
    return np.flatnonzero(begins)


@cache
def vocabulary(language: str) -> Vocabulary:
    """The one of a language."""
    return Vocabulary(language)
