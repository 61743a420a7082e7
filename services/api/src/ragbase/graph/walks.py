"""Walks over a graph, level by level: the same in every store that can tell a level's neighbours.

One statement a level instead of one for the whole walk: a level is deduplicated before the next one
begins, so that no number of ways leading to a node makes it dearer, and cuts and ties are decided
here, once. Stores differ in how they would write, order and cut a recursive statement.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeAlias

from ragbase.errors import InvalidInputError
from ragbase.graph.store import FANOUT, NODES_MAX, PATH_NODES_MAX, Step

__all__ = ["Link", "Linked", "Reached", "walk_around", "walk_between", "walk_out"]

Reached: TypeAlias = Callable[[Sequence[int], Sequence[int], int, int], Awaitable[list[int]]]
"""(level, seen, fanout, room) → the nodes that one relation leads to from the level and that were
not seen, by id, the first ``room``; of a node its ``fanout`` neighbours of least id are looked at."""

Link: TypeAlias = tuple[int, int]
"""A neighbour, and the least node of the level that it is related to."""
Linked: TypeAlias = Callable[[Sequence[int], int], Awaitable[list[Link]]]
"""(level, most) → what is related to the level, either way, each node once; at most ``most``."""

_START: Final = 0
_END: Final = 1


async def walk_around(reached: Reached, seeds: Sequence[int], hops: int) -> list[int]:
    """`GraphStore.expand`, without its filter on seeds."""
    found, level = list(seeds), list(seeds)
    for _ in range(hops):
        room = NODES_MAX - len(found)
        if room <= 0 or not level:
            break
        level = await reached(level, found, FANOUT, room)
        found = [*found, *level]
    return found[:NODES_MAX]


async def walk_out(reached: Reached, start: int, depth: int, limit: int) -> list[Step]:
    """`GraphStore.neighbours`."""
    found: list[Step] = []
    level = [start]
    for distance in range(1, depth + 1):
        room = limit - len(found)
        if room <= 0 or not level:
            break
        seen = [start, *(step.id for step in found)]
        level = await reached(level, seen, limit if distance == 1 else FANOUT, room)
        found += [Step(one, distance) for one in level]
    return found


async def walk_between(linked: Linked, start: int, end: int, max_depth: int) -> list[int] | None:
    """`GraphStore.path`: from both ends by turns, the smaller level first.

    Where a new level first meets what the other side has seen, the path is a shortest one. A node is
    entered from the least of those that lead to it, and the least meeting node is taken.
    """
    if start == end:
        return [start]
    came_from: tuple[dict[int, int], dict[int, int]] = ({start: start}, {end: end})
    levels: list[list[int]] = [[start], [end]]
    for _ in range(max_depth):
        side = _START if len(levels[_START]) <= len(levels[_END]) else _END
        seen, others = came_from[side], came_from[1 - side]
        room = PATH_NODES_MAX - len(seen) - len(others)
        links = await linked(levels[side], PATH_NODES_MAX + 1)
        new = {node: via for node, via in links if node not in seen}
        if len(links) > PATH_NODES_MAX or len(new) > room:
            raise InvalidInputError(
                f"More than {PATH_NODES_MAX} nodes lie between the two: no path is looked for.",
                code="path_too_wide",
            )
        seen |= new
        if meeting := new.keys() & others.keys():
            return _joined(came_from, min(meeting))
        if not new:
            return None
        levels[side] = sorted(new)
    return None


def _joined(came_from: tuple[dict[int, int], dict[int, int]], meeting: int) -> list[int]:
    to_start, to_end = (_back(seen, meeting) for seen in came_from)
    return [*reversed(to_start), *to_end[1:]]


def _back(came_from: dict[int, int], node: int) -> list[int]:
    """From a node to the end that its side began at."""
    way = [node]
    while came_from[way[-1]] != way[-1]:
        way.append(came_from[way[-1]])
    return way
