"""How long things took, and the tables that say so."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console
from rich.markup import escape
from rich.table import Table

__all__ = ["Times"]


@dataclass
class Times:
    """Seconds of scenarios, and of the parts of the way to the first search."""

    scenarios: list[tuple[str, str, float]] = field(default_factory=list)
    """Name, outcome, seconds."""
    parts: list[tuple[str, float]] = field(default_factory=list)
    """From `helm install` on: what was reached, and after how many seconds."""
    notes: list[str] = field(default_factory=list)
    """What readers of the tables must know, such as the stand-ins."""
    _began: float | None = None

    def begin(self) -> None:
        """The moment of `helm install`."""
        self._began = time.monotonic()

    def reached(self, what: str) -> None:
        """Something on the way to the first search is there; each thing counts once."""
        if self._began is not None and what not in (name for name, _ in self.parts):
            self.parts.append((what, time.monotonic() - self._began))

    @contextmanager
    def scenario(self, name: str) -> Iterator[None]:
        """Time a part of a scenario as a row of its own."""
        began = time.monotonic()
        outcome = "failed"
        try:
            yield
            outcome = "passed"
        finally:
            self.scenarios.append((name, outcome, time.monotonic() - began))

    def show(self, console: Console) -> None:
        """Print what there is."""
        for note in self.notes:
            console.print(note, highlight=False, soft_wrap=True)
        if self.parts:
            console.print(self._way())
        table = Table("scenario", "outcome", "s", title="Scenarios")
        for name, outcome, seconds in self.scenarios:
            table.add_row(escape(name), outcome, f"{seconds:.1f}")
        console.print(table)

    def _way(self) -> Table:
        table = Table("reached", "after s", "took s", title="From helm install to the first search")
        before = 0.0
        for name, seconds in self.parts:
            table.add_row(name, f"{seconds:.1f}", f"{seconds - before:.1f}")
            before = seconds
        return table
