"""What every reconcile needs beside the resource itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from ragbase_operator.builders.inputs import Images
from ragbase_operator.cluster.port import Cluster
from ragbase_operator.reconcile.probe import Probe

__all__ = ["PASSES", "Context", "Meter", "Outcome"]

PASSES = 4
"""Passes of different resources that look and apply at once. More are no quicker, for one thread
does the work, and what each of them has read is in memory at the same time."""


class Meter(Protocol):
    """What is counted of a reconcile."""

    def applied(self, kind: str, outcome: str) -> None:
        """A child of ``kind`` was `applied`, `skipped`, `held`, `pruned` or `failed`."""
        ...


@dataclass(frozen=True, slots=True)
class Context:
    """Shared by all passes of one operator."""

    cluster: Cluster
    images: Images
    version: str
    probe: Probe
    meter: Meter
    clock: Callable[[], datetime]
    draw: Callable[[], str]
    """A fresh secret: 64 random hexadecimal signs."""
    resync_s: float = 120.0
    """After so long without an event a resource is looked at again."""
    retry_s: float = 15.0
    """The same for one that is not well."""
    parallel: int = 8
    """Requests of one pass at once."""
    gate: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(PASSES))
    """Held while a pass looks and applies, not while it waits for a search."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a pass went: seconds until the next one at the latest, and a word for the metrics."""

    after_s: float
    result: str
    conditions: tuple[tuple[str, str], ...] = ()
    """Type and status of each condition, as they are now."""
