"""Service level objectives: what the rules watch over and the dashboards draw as a line.

The figures leave room above what is measured on a small machine with 100,000 chunks (`bench`).
Each time is a bucket of the histograms, so shares are counted and not interpolated.
"""

from __future__ import annotations

from typing import Final

__all__ = ["ANSWERED", "SEARCH_TARGETS", "STAGE_TARGETS", "WITHIN_TARGET"]

ANSWERED: Final = 0.995
"""Share of requests that are not answered 5xx."""

WITHIN_TARGET: Final = 0.95
"""Share of searches that take no longer than the target of their mode."""

SEARCH_TARGETS: Final = {"keyword": 0.2, "semantic": 0.2, "hybrid": 0.5}
"""Seconds of a whole search by mode; reranking included."""

STAGE_TARGETS: Final = {
    "embed": 0.05,
    "lexical": 0.1,
    "semantic": 0.1,
    "graph": 0.2,
    "fuse": 0.01,
    "rerank": 0.5,
}
"""Seconds of a stage of a search, in 95 % of them."""
