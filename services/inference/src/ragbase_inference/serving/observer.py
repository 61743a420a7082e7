"""What the serving of models tells those who measure it."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Observer", "Silent"]


class Observer(Protocol):
    """Called from the event loop and from the thread that runs batches; must be quick."""

    def batch(self, size: int, tokens: int) -> None:
        """A batch begins: its inputs, and its tokens with padding."""
        ...

    def out_of_memory_split(self) -> None:
        """The device had no room for a batch; its halves are tried."""
        ...

    def dropped(self, inputs: int) -> None:
        """That many inputs were withdrawn before they ran: their caller has gone."""
        ...


class Silent:
    """Measures nothing."""

    def batch(self, size: int, tokens: int) -> None:
        """Nothing."""

    def out_of_memory_split(self) -> None:
        """Nothing."""

    def dropped(self, inputs: int) -> None:
        """Nothing."""
