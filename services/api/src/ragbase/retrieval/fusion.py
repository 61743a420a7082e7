"""Makes one ranking of several: reciprocal rank fusion, or a weighted sum of scaled scores.

Both need every arm at the same fixed depth whatever page is asked for; then pages neither repeat
nor skip. The result does not depend on the order in which the arms are given: contributions are
summed without rounding in between, and equal scores are ordered by chunk id.

Sources: Cormack, Clarke, Büttcher: Reciprocal Rank Fusion outperforms Condorcet and individual Rank
Learning Methods, SIGIR 2009. Bruch, Gai, Ingber: An Analysis of Fusion Functions for Hybrid
Retrieval, TOIS 2023 (the observed and the theoretical minimum of a scale).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from ragbase.models.domain import ArmName, Hit
from ragbase.models.fusion import DEFAULT_RRF, RrfFusion, WeightedFusion

__all__ = [
    "ARMS",
    "DEFAULT_RRF",
    "FusedHit",
    "Fusion",
    "Normalise",
    "RrfFusion",
    "WeightedFusion",
    "arm_weight",
    "counted_arms",
    "fuse",
]

Fusion: TypeAlias = RrfFusion | WeightedFusion
Normalise = Literal["observed", "theoretical"]

ARMS: Final[tuple[ArmName, ...]] = ("semantic", "keyword", "graph")
"""The order in which arms are named everywhere."""

DEFAULT_NORMALISE: Final[Normalise] = "theoretical"
"""As good as the observed minimum where both are deep, and blind to the depth: see ADR 9."""

FLOORS: Final[Mapping[ArmName, float]] = {"semantic": 0.0, "keyword": 0.0, "graph": 0.0}
"""Least score an arm can give: BM25 and PageRank are positive; cosines below 0 count as 0."""


class FusedHit(NamedTuple):
    """A chunk in the fused ranking; ``sources`` are the arms that have it, in the order of `ARMS`."""

    chunk_id: int
    score: float
    sources: tuple[ArmName, ...]


def arm_weight(fusion: Fusion, arm: ArmName) -> float:
    """What the arm counts; 0 means that there is no use in asking it."""
    return 1.0 if isinstance(fusion, RrfFusion) else fusion.weights.get(arm, 0.0)


def fuse(
    rankings: Mapping[ArmName, Sequence[Hit]],
    fusion: Fusion = DEFAULT_RRF,
    *,
    normalise: Normalise = DEFAULT_NORMALISE,
    gates: Mapping[ArmName, float] | None = None,
    limit: int | None = None,
) -> list[FusedHit]:
    """The chunks of all rankings, by fused score descending, then chunk id: the first ``limit``.

    Each ranking is best first; of a chunk that it names twice the first place counts. A chunk that
    an arm does not have gets nothing from it. ``normalise`` says what a weighted sum scales to 0:
    the least score the arm can give, or the worst in its list (which depends on the depth, and makes
    the last row of a short list worth nothing). ``gates`` are factors of the arms' weights, 0…1; an
    arm that is left out has 1, and so has the only one that weighs anything. Scores are at most
    n/(k + 1) for n arms, or 1.
    """
    weights = _effective_weights(fusion, gates)
    parts: dict[ArmName, dict[int, float]] = {}
    for arm in ARMS:
        hits = _distinct(rankings.get(arm, ()))
        if not hits or weights[arm] == 0.0:
            continue
        chunks = [hit.chunk_id for hit in hits]
        contributions = _contributions(arm, hits, fusion, weights, normalise)
        parts[arm] = dict(zip(chunks, contributions, strict=True))
    given = [part.get for part in parts.values()]
    contenders = _contenders(list(parts.values()), limit)
    scored = [(-math.fsum([get(chunk, 0.0) for get in given]), chunk) for chunk in contenders]
    scored.sort()
    return [
        FusedHit(chunk, -score, tuple([arm for arm, part in parts.items() if chunk in part]))
        for score, chunk in scored[:limit]
    ]


def _contenders(parts: Sequence[Mapping[int, float]], limit: int | None) -> set[int]:
    """Chunks that may be among the first ``limit``: of hundreds, a page's rows and few others.

    One that a single arm names, below ``limit`` others of that arm, has all of those before it.
    """
    found: set[int] = set()
    for at, part in enumerate(parts):
        if limit is None or len(part) <= limit:
            found |= part.keys()
        elif limit > 0:
            least = sorted(part.values(), reverse=True)[limit - 1]
            found.update([chunk for chunk, value in part.items() if value >= least])
            for other in parts[:at]:
                found |= part.keys() & other.keys()
    return found


def counted_arms(
    rankings: Mapping[ArmName, Sequence[Hit]],
    fusion: Fusion,
    gates: Mapping[ArmName, float] | None = None,
) -> list[ArmName]:
    """The arms that `fuse` takes something from: those with hits, a weight and an open gate."""
    weights = _effective_weights(fusion, gates)
    return [arm for arm in ARMS if rankings.get(arm) and weights[arm] != 0.0]


def _effective_weights(
    fusion: Fusion, gates: Mapping[ArmName, float] | None
) -> dict[ArmName, float]:
    return _gated({arm: arm_weight(fusion, arm) for arm in ARMS}, gates or {})


def _gated(
    weights: Mapping[ArmName, float], gates: Mapping[ArmName, float]
) -> dict[ArmName, float]:
    if sum(weight > 0.0 for weight in weights.values()) < 2:
        return dict(weights)
    return {arm: weight * gates.get(arm, 1.0) for arm, weight in weights.items()}


def _contributions(
    arm: ArmName,
    hits: Sequence[Hit],
    fusion: Fusion,
    weights: Mapping[ArmName, float],
    normalise: Normalise,
) -> Iterable[float]:
    if isinstance(fusion, RrfFusion):
        return [weights[arm] / (fusion.k + rank) for rank in range(1, len(hits) + 1)]
    scores = [hit.score for hit in hits]
    low = min(scores) if normalise == "observed" else FLOORS[arm]
    weight = weights[arm] / math.fsum(weights.values())
    return [weight * scaled for scaled in _scaled(scores, low)]


def _scaled(scores: Sequence[float], low: float) -> list[float]:
    """``low`` (and what lies below) becomes 0, the best 1; equal scores, however low, are all 1."""
    high = max(scores)
    if high <= low or min(scores) == high:
        return [1.0] * len(scores)
    return [max(0.0, (score - low) / (high - low)) for score in scores]


def _distinct(hits: Sequence[Hit]) -> Sequence[Hit]:
    if len({hit.chunk_id for hit in hits}) == len(hits):
        return hits
    first: dict[int, Hit] = {}
    for hit in hits:
        first.setdefault(hit.chunk_id, hit)
    return list(first.values())
