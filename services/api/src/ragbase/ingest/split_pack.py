"""Packing atoms into pieces: full, even, and cut where it hurts least.

A shortest path over the atoms, as paragraphs are broken into lines (Knuth, Plass: Breaking
paragraphs into lines, 1981): a piece costs the square of the room it leaves, plus what its first cut
breaks. Time is linear in the number of atoms times those that fit in one piece.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

import numpy as np

from ragbase.ingest.split_atoms import Atom, Context
from ragbase.ingest.split_bounds import Cut
from ragbase.ingest.split_room import Room
from ragbase.ingest.split_ruler import Ruler

__all__ = ["Span", "pack"]

_CUT_COST: Final = {
    Cut.SECTION: 0.0,
    Cut.BLOCK: 0.05,
    Cut.ITEM: 0.1,
    Cut.PARAGRAPH: 0.1,
    Cut.LINE: 1.0,
    Cut.SENTENCE: 1.0,
    Cut.CLAUSE: 1.5,
    Cut.WORD: 2.0,
    Cut.CLUSTER: 3.0,
    Cut.POINT: 4.0,
}
"""Against an empty piece's cost of 1: paragraphs are cut only where they do not fit."""
_HEADING_LEFT: Final = 10.0
"""Cost of parting a heading from what stands under it: only where nothing else is possible."""


@dataclass(frozen=True, slots=True)
class Span:
    """A piece to be, ``text[start:end]``. What lies before ``own`` repeats the piece before."""

    start: int
    own: int
    end: int
    context: Context


def pack(atoms: Sequence[Atom], ruler: Ruler) -> list[Span]:
    """The cheapest sequence of pieces; each within its room unless a single atom is not."""
    scale = _Scale(atoms, ruler)
    spans: list[Span] = []
    for first, last in _cheapest(atoms, scale):
        own, start = atoms[first].start, scale.starts[first]
        if spans and start <= spans[-1].own:  # would repeat all of the piece before
            start = own
        spans.append(Span(start, own, atoms[last - 1].end, atoms[first].context))
    return spans


class _Scale:
    """Lengths from any atom to any other, as prefix counts."""

    def __init__(self, atoms: Sequence[Atom], ruler: Ruler) -> None:
        self._rooms: list[Room] = [atom.context.room for atom in atoms]
        self.starts = [
            atom.carry if atom.context.room.holds(ruler, atom.carry, atom.end) else atom.start
            for atom in atoms
        ]
        starts = np.array(self.starts, dtype=np.int64)
        ends = np.array([atom.end for atom in atoms], dtype=np.int64)
        self._units: list[list[int]] = [a.tolist() for a in ruler.unit_range(starts, ends)]
        self._tokens: list[list[int]] = [a.tolist() for a in ruler.token_range(starts, ends)]

    def pieces_from(self, first: int) -> Iterator[tuple[int, float]]:
        """One past the last atom, and the fill, of each piece from atom ``first`` that fits.

        The shortest comes first, and comes even if it is too full (fill above 1).
        """
        room, most = self._rooms[first], len(self.starts)
        units, tokens = self._units[0][first], self._tokens[0][first]
        unit_ends, token_ends = self._units[1], self._tokens[1]
        last = first
        while last < most:
            fill = max(
                (unit_ends[last] - units) / room.units, (token_ends[last] - tokens) / room.tokens
            )
            if fill > 1 and last > first:
                return
            last += 1
            yield last, fill


def _cheapest(atoms: Sequence[Atom], scale: _Scale) -> Iterator[tuple[int, int]]:
    """First and one past the last atom of each piece, by dynamic programming from the end."""
    count = len(atoms)
    best = [inf] * count + [0.0]
    ends = [count] * count
    parting = [_parting_cost(atoms, index) for index in range(count)] + [0.0]
    for first in range(count - 1, -1, -1):
        for last, fill in scale.pieces_from(first):
            cost = best[last] + parting[last] + max(0.0, 1 - fill) ** 2
            if cost < best[first]:
                best[first], ends[first] = cost, last
    first = 0
    while first < count:
        yield first, ends[first]
        first = ends[first]


def _parting_cost(atoms: Sequence[Atom], index: int) -> float:
    """Cost of starting a piece at an atom."""
    if index == 0:
        return 0.0
    atom, before = atoms[index], atoms[index - 1]
    under = before.leaves and not 0 < atom.opens <= before.leaves
    return _CUT_COST[atom.cut] + (_HEADING_LEFT if under else 0.0)
