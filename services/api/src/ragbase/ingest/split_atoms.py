"""Atoms: stretches of text that packing never cuts, each small enough for a piece.

A stretch that fits is one atom. A longer one is taken apart at the best places it has: prose at
sentences, code at blank lines, table rows at lines; then at lines, clauses, words, and in a string
without end at grapheme clusters.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import Final

from ragbase.ingest.split_bounds import Cut, bounds
from ragbase.ingest.split_room import Room
from ragbase.ingest.split_ruler import Positions, Ruler
from ragbase.ingest.split_rules import Breadcrumb

__all__ = ["CODE", "CRUMB", "PROSE", "ROWS", "WHOLE", "Atom", "AtomCutter", "Context"]

PROSE: Final = (
    Cut.PARAGRAPH,
    Cut.SENTENCE,
    Cut.LINE,
    Cut.CLAUSE,
    Cut.WORD,
    Cut.CLUSTER,
    Cut.POINT,
)
CODE: Final = (Cut.ITEM, Cut.LINE, Cut.CLAUSE, Cut.WORD, Cut.CLUSTER, Cut.POINT)
ROWS: Final = (Cut.LINE, Cut.CLAUSE, Cut.WORD, Cut.CLUSTER, Cut.POINT)
WHOLE: Final[tuple[Cut, ...]] = ()
"""Where each kind of text may be cut, best places first."""

CRUMB: Final = 1 / 12
"""Share of a room below which neighbouring atoms are joined: packing gains nothing from less."""


@dataclass(frozen=True, slots=True)
class Context:
    """What atoms inherit from where they stand.

    ``prefix`` goes before a piece that starts here (the header of a table), and takes
    ``prefix_tokens`` of its room.
    """

    breadcrumb: Breadcrumb
    room: Room
    code: bool = False
    prefix: str = ""
    prefix_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Atom:
    """``text[start:end]``, without outer white space (code keeps its first line's indentation).

    ``cut`` tells what a piece that starts here cuts. ``carry`` is where it starts when it repeats
    the end of the piece before (``start``: nowhere). ``opens`` and ``leaves`` are the levels of the
    headings it begins and ends with, 0 for text.
    """

    start: int
    end: int
    carry: int
    cut: Cut
    context: Context
    opens: int = 0
    leaves: int = 0


@dataclass(frozen=True, slots=True)
class AtomCutter:
    """Cuts stretches of one text; neighbouring pieces may share ``overlap`` units."""

    text: str
    ruler: Ruler
    overlap: int

    def atoms(
        self, start: int, end: int, cut: Cut, levels: Sequence[Cut], context: Context
    ) -> Iterator[Atom]:
        """The atoms of ``text[start:end]``, whose first one starts at a ``cut``."""
        start, end = _trimmed(self.text, start, end, indented=context.code)
        if start >= end:
            return
        if not levels or context.room.holds(self.ruler, start, end):
            yield Atom(start, end, start, cut, context)
            return
        places = bounds(self.text, start, end, levels[0])
        if len(places) == 2:
            yield from self.atoms(start, end, cut, levels[1:], context)
        else:
            yield from self._parts(places, cut, levels, context)

    def _parts(
        self, places: Positions, cut: Cut, levels: Sequence[Cut], context: Context
    ) -> Iterator[Atom]:
        level = levels[0]
        carries = self._carries(places, level)
        for index, (a, b) in enumerate(pairwise(self._grouped(places, level, context.room))):
            here = level if index else cut
            inner = self.atoms(int(places[a]), int(places[b]), here, levels[1:], context)
            for first in islice(inner, 1):
                yield replace(first, carry=int(carries[a])) if index else first
            yield from inner

    def _carries(self, places: Positions, level: Cut) -> Positions:
        """For each place the earliest one before it that is at most ``overlap`` units away."""
        if level in (Cut.CLUSTER, Cut.POINT) or self.overlap == 0:
            return places
        firsts, _ = self.ruler.unit_range(places, places)
        return places[firsts.searchsorted(firsts - self.overlap, "left")]

    def _grouped(self, places: Positions, level: Cut, room: Room) -> list[int]:
        """Indices of ``places`` to cut at: crumbs together, or even windows at the finest levels."""
        units, _ = self.ruler.unit_range(places, places)
        tokens, _ = self.ruler.token_range(places, places)
        step, extra = room.share(CRUMB), Room(0, 0)
        if level >= Cut.WORD:
            extra = self._repeated(room, units, tokens) if level is Cut.WORD else extra
            step = _even(room, extra, int(units[-1] - units[0]), int(tokens[-1] - tokens[0]))
        cuts, last = [0], len(places) - 1
        while cuts[-1] < last:
            here = cuts[-1]
            reach = min(
                int(units.searchsorted(units[here] + step.units + extra.units, "right")),
                int(tokens.searchsorted(tokens[here] + step.tokens + extra.tokens, "right")),
            )
            cuts.append(min(max(here + 1, reach - 1), last))
            extra = Room(0, 0)  # later windows repeat this much of the one before
        return cuts

    def _repeated(self, room: Room, units: Positions, tokens: Positions) -> Room:
        """What a window repeats of the one before."""
        density = float(tokens[-1] - tokens[0]) / max(1, int(units[-1] - units[0]))
        return Room(
            min(self.overlap, room.units - 1),
            min(math.ceil(self.overlap * density), room.tokens // 2),
        )


def _even(room: Room, repeated: Room, units: int, tokens: int) -> Room:
    """The part of ``room`` that cuts a stretch into even windows, beside what they repeat."""
    most = Room(max(1, room.units - repeated.units), max(1, room.tokens - repeated.tokens))
    units, tokens = max(1, units - repeated.units), max(1, tokens - repeated.tokens)
    count = max(-(-units // most.units), -(-tokens // most.tokens))
    return Room(-(-units // count), -(-tokens // count))


def _trimmed(text: str, start: int, end: int, *, indented: bool) -> tuple[int, int]:
    """The stretch without outer white space; ``indented`` keeps that of its first line."""
    body = text[start:end]
    stop = start + len(body.rstrip())
    begin = end - len(body.lstrip())
    if indented and begin < stop:
        begin = start + max(body.rfind(end_of_line, 0, begin - start) for end_of_line in "\r\n") + 1
    return begin, stop
