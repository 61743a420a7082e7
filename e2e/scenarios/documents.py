"""What the scenarios store and ask."""

from __future__ import annotations

__all__ = ["DOCUMENTS", "QUESTIONS"]

DOCUMENTS = {
    "harbour": "Ships moor at the north quay. The pilot boards at the outer buoy.",
    "bakery": "The dough rests for eighteen hours before the loaves go into the stone oven.",
    "orchard": "Apple trees are pruned in late winter, while the buds are still closed.",
    "railway": "The night train to the coast has sleeping cars and leaves from platform nine.",
    "glacier": "Meltwater runs below the ice and makes the glacier slide over its bed of rock.",
}
"""External ids and texts."""

QUESTIONS = {
    "harbour": ("where do boats tie up", "quay pilot"),
    "bakery": ("how is bread made", "dough oven"),
    "orchard": ("when to cut fruit trees", "pruned buds"),
    "railway": ("travelling overnight by rail", "platform sleeping"),
    "glacier": ("why does ice move downhill", "meltwater rock"),
}
"""For each document one question that shares its meaning, and one that shares its words."""
