"""How much the graph arm counts in one search: not at all, unless the query is about its names.

Coverage is the share of the query's words in phrases that name entities, where an entity that is
named all over the collection counts next to nothing. Below `THRESHOLD` the arm is left out; above,
its weight grows with the coverage. Measured in ``docs/adr/0030-graph-arm.md``.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from ragbase.graph.links import Linked
from ragbase.graph.neighbourhood import CUTS, Neighbourhood
from ragbase.graph.pagerank import specificity

__all__ = ["THRESHOLD", "coverage_of", "gate"]

THRESHOLD: Final = 0.2
_MOST_TELLING: Final = float(specificity(np.ones(1), CUTS.common)[0])


def gate(linked: Linked, around: Neighbourhood) -> float:
    """Factor of the arm's weight, 0…1."""
    return max(0.0, (coverage_of(linked, around) - THRESHOLD) / (1.0 - THRESHOLD))


def coverage_of(linked: Linked, around: Neighbourhood) -> float:
    """Coverage by the entities that the walk starts from, each counted by the square of how telling
    it is in comparison with one that a single chunk names."""
    shares = np.minimum(1.0, around.graph.telling / _MOST_TELLING) ** 2
    return linked.coverage(
        {
            int(entity): float(share)
            for entity, share in zip(around.entity_ids, shares, strict=True)
            if int(entity) in around.seeds
        }
    )
