"""The life of one resource: a pass, then waiting for the bell or for the time to look again."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from ragbase_operator.cluster.port import ClusterError
from ragbase_operator.reconcile.bell import Bell
from ragbase_operator.reconcile.context import Outcome

__all__ = ["Gauge", "Pace", "live"]


class Gauge(Protocol):
    """Is told how passes go."""

    def passed(self, kind: str, uid: str, seconds: float, outcome: Outcome) -> None:
        """A pass came to its end."""
        ...

    def failed(self, kind: str, uid: str, seconds: float, error: Exception) -> None:
        """A pass was broken off by ``error``."""
        ...


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds between passes of one resource."""

    quiet_s: float = 0.3
    """After a pass, so that a burst of events is one more pass."""
    first_backoff_s: float = 1.0
    backoff_s: float = 30.0
    """After failures: doubled each time up to this."""
    jitter: float = 0.2

    def backoff(self, failures: int) -> float:
        """Before the next try after so many failures in a row."""
        return self.spread(min(self.first_backoff_s * 2 ** min(failures - 1, 10), self.backoff_s))

    def spread(self, seconds: float) -> float:
        """Up to `jitter` less or more, so that many resources do not come at once."""
        return seconds * random.uniform(1 - self.jitter, 1 + self.jitter)  # noqa: S311 - no secret


async def live(
    kind: str,
    uid: str,
    bell: Bell,
    work: Callable[[], Awaitable[Outcome]],
    gauge: Gauge,
    pace: Pace,
) -> None:
    """Until it is cancelled. No error ends it: what fails is tried again, ever more slowly."""
    failures = 0
    clock = asyncio.get_running_loop().time
    while True:
        started = clock()
        try:
            async with bell.lock:
                outcome = await work()
        except ClusterError as error:
            failures += 1
            gauge.failed(kind, uid, clock() - started, error)
        except Exception as error:  # noqa: BLE001 - a loop that ended would leave the resource alone
            failures += 1
            gauge.failed(kind, uid, clock() - started, error)
        else:
            failures = 0
            gauge.passed(kind, uid, clock() - started, outcome)
        if failures:
            await asyncio.sleep(pace.backoff(failures))
            continue
        await asyncio.sleep(pace.quiet_s)
        await bell.wait(pace.spread(outcome.after_s))
