"""Texts to compare backends on: of all lengths, some longer than any model here reads."""

from __future__ import annotations

import random

__all__ = ["LONG", "QUERY", "TEXTS", "texts"]

_WORDS = [
    "river",
    "bank",
    "engine",
    "protein",
    "city",
    "law",
    "music",
    "winter",
    "answer",
    "signal",
    "paper",
    "ocean",
    "memory",
    "index",
    "vector",
    "query",
    "reranker",
    "naïve",
    "Zürich",
    "東京",
    "3.14",
    "e-mail",
    "don't",
    "(round)",
    "über-long",
]
QUERY = "What does the engine answer?"
LONG = " ".join(_WORDS * 40)


def texts(count: int, seed: int = 0) -> list[str]:
    """``count`` texts of 1 to 60 words."""
    draw = random.Random(seed)
    return [" ".join(draw.choices(_WORDS, k=draw.randint(1, 60))) for _ in range(count)]


TEXTS = [*texts(5), LONG, "a", "x" * 400, "...", "Line\nbreak\ttab"]
