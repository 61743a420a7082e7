"""How much fits in a piece: the size in words, and the tokens its header leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ragbase.ingest.split_ruler import Ruler

if TYPE_CHECKING:
    from ragbase.ingest.split_rules import Breadcrumb, SplitRules

__all__ = ["Allowance", "Room"]

_UNBOUNDED: Final = 1 << 60
_TOKENS_MIN: Final = 8
"""Left to the text even where a header would take all: then the header is at fault."""


@dataclass(frozen=True, slots=True)
class Room:
    """Most units and tokens of a stretch of text."""

    units: int
    tokens: int = _UNBOUNDED

    def holds(self, ruler: Ruler, start: int, end: int) -> bool:
        """Whether ``text[start:end]`` fits."""
        return ruler.units(start, end) <= self.units and ruler.tokens(start, end) <= self.tokens

    def share(self, part: float) -> Room:
        """A part of the room, never less than one unit and one token."""
        return Room(max(1, int(self.units * part)), max(1, int(self.tokens * part)))

    def without(self, tokens: int) -> Room:
        """The room less some tokens."""
        return Room(self.units, max(1, self.tokens - tokens)) if tokens else self


class Allowance:
    """The room of each section of a document, whose headers differ in length."""

    def __init__(self, rules: SplitRules) -> None:
        self._rules = rules
        self._rooms: dict[Breadcrumb, tuple[Breadcrumb, Room]] = {}

    def of(self, breadcrumb: Breadcrumb) -> tuple[Breadcrumb, Room]:
        """The breadcrumb to use and the room it leaves.

        Outer headings are dropped while the header would take more than half of the tokens.
        """
        known = self._rooms.get(breadcrumb)
        if known is None:
            known = self._rooms[breadcrumb] = self._measure(breadcrumb)
        return known

    def _measure(self, breadcrumb: Breadcrumb) -> tuple[Breadcrumb, Room]:
        size, limit = self._rules.size, self._rules.max_tokens
        if limit is None:
            return breadcrumb, Room(size)
        header = self._rules.header_tokens
        if header is None:
            return breadcrumb, Room(size, limit)
        while (taken := header(breadcrumb)) > limit // 2 and breadcrumb:
            breadcrumb = breadcrumb[1:]
        return breadcrumb, Room(size, max(_TOKENS_MIN, limit - taken))
