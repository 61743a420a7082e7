"""Groups texts into requests that a model server takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

__all__ = ["Batch", "batches"]

BATCH_BYTES = 1_000_000
"""Half of the 2,000,000 bytes that TEI takes by default (its limit is not in ``/info``): room for
JSON's escapes, so that 413, which costs the connection, stays rare."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Texts of one request; ``first`` is the number of the first one in the caller's list."""

    first: int
    texts: Sequence[str]

    def halves(self) -> tuple[Batch, Batch]:
        """Two batches that together are this one."""
        middle = len(self.texts) // 2
        return (
            Batch(self.first, self.texts[:middle]),
            Batch(self.first + middle, self.texts[middle:]),
        )


def batches(texts: Sequence[str], most: int, most_bytes: int = BATCH_BYTES) -> Iterator[Batch]:
    """``texts`` in order, at most ``most`` and ``most_bytes`` (UTF-8) a batch.

    A text that is larger alone gets a batch of its own.
    """
    first = size = 0
    for number, text in enumerate(texts):
        own = len(text) if text.isascii() else len(text.encode())
        if number > first and (number - first == most or size + own > most_bytes):
            yield Batch(first, texts[first:number])
            first, size = number, 0
        size += own
    if first < len(texts):
        yield Batch(first, texts[first:])
