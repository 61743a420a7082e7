"""What the rest of RagBase sees of a model that finds named entities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

__all__ = ["DEFAULT_LABELS", "Ner", "NerInfo", "NerSpan"]

DEFAULT_LABELS: Final = (
    "person",
    "organization",
    "location",
    "product",
    "concept",
    "technology",
    "event",
    "date",
    "work",
)
"""What GLiNER models are asked for where nothing else is said."""


@dataclass(frozen=True, slots=True)
class NerSpan:
    """``text[start:end]`` (code points) names something of this type; ``score`` in 0…1."""

    start: int
    end: int
    type: str
    score: float = 1.0


@dataclass(frozen=True, slots=True)
class NerInfo:
    """``name`` changes with whatever changes the results; ``language``: ISO 639-1, "": any."""

    name: str
    language: str = ""


class Ner(Protocol):
    """Finds named entities in texts."""

    @property
    def info(self) -> NerInfo:
        """Facts about the model."""
        ...

    async def spans(
        self, texts: Sequence[str], *, labels: Sequence[str] = (), within_s: float | None = None
    ) -> list[list[NerSpan]]:
        """The spans of each text, in order of their start.

        ``labels`` are the types to look for; models of fixed types ignore them. Raises
        `UnavailableError` (code ``ner_unavailable``), `DeadlineExceededError` (``ner_timeout``),
        `UpstreamError`.
        """
        ...

    async def ping(self) -> None:
        """Return when the model can be asked; raises as `spans`."""
        ...

    async def aclose(self) -> None:
        """Let go of connections and processes."""
        ...
