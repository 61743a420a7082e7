"""Windows of a fixed number of words, blind to what the text says: the splitting of Contract B.

Unlike there, windows are exact slices, the last one ends with the text, and a window that the
embedder could not take whole is shorter.
"""

from __future__ import annotations

from collections.abc import Iterator

from ragbase.ingest.split_bounds import cluster_floor
from ragbase.ingest.split_room import Room
from ragbase.ingest.split_ruler import Ruler

__all__ = ["windows"]


def windows(text: str, ruler: Ruler, room: Room, overlap: int) -> Iterator[tuple[int, int]]:
    """Start and end of each window, in order; the last is the first to reach the end."""
    starts, ends = ruler.unit_starts, ruler.unit_ends
    before, after = ruler.token_range(starts, ends)
    first, last, count = 0, 0, len(starts)
    while last < count:
        reached = last
        while last <= reached:  # a window that adds nothing repeats less
            fitting = int(after.searchsorted(before[first] + room.tokens, "right"))
            last = min(max(first + 1, min(first + room.units, fitting)), count)
            first += last <= reached
        start, end = int(starts[first]), int(ends[last - 1])
        yield cluster_floor(text, start), end if last == count else cluster_floor(text, end)
        taken = last - first
        first = last - (overlap if overlap < taken else overlap * taken // room.units)
