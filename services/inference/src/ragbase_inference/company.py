"""Which waiting items share a batch: those nearest in size to the one whose turn it is."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["company"]


def company(
    costs: Sequence[int], first: int, *, max_cost: int, max_padding: int, max_items: int
) -> list[int]:
    """Numbers of the items to run together with item ``first``, itself among them, in order.

    A batch is padded to its largest item, so n items cost n times that, at most ``max_cost``. It
    grows from ``first`` on the side that pads less, as long as that pads at most ``max_padding``.
    """
    order = sorted(range(len(costs)), key=costs.__getitem__)
    taken = _neighbours(
        [costs[number] for number in order],
        order.index(first),
        max_cost=max_cost,
        max_padding=max_padding,
        max_items=max_items,
    )
    return sorted(order[taken])


def _neighbours(
    costs: Sequence[int], first: int, *, max_cost: int, max_padding: int, max_items: int
) -> slice:
    """A run of the sorted ``costs`` around ``first``."""
    low, high = first, first + 1
    while (count := high - low) < max_items:
        largest = costs[high - 1]
        sides = []
        if low > 0 and (count + 1) * largest <= max_cost:
            sides.append((largest - costs[low - 1], low - 1, high))
        if high < len(costs) and (count + 1) * costs[high] <= max_cost:
            sides.append((count * (costs[high] - largest), low, high + 1))
        padding, *grown = min(sides, default=(max_padding + 1, low, high))
        if padding > max_padding:
            break
        low, high = grown
    return slice(low, high)
