"""When and how long to wait before asking a model server again."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from time import monotonic

import stamina
from stamina import Attempt

from ragbase.clients.answers import TransientError
from ragbase.clients.vectors import UnusableAnswerError

__all__ = ["Retries", "RetryPolicy"]

LEAST_S = 0.05
"""No attempt begins with less: it would fail, and its message would blame the server."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Bounds of the retries of one request; times in seconds.

    The defaults are for documents: a server that restarts or sheds load for a minute fails
    nothing, one that stays away is reported within two.
    """

    attempts: int = 10
    budget_s: float = 120.0
    first_wait_s: float = 0.2
    longest_wait_s: float = 10.0

    @classmethod
    def once(cls, within_s: float) -> RetryPolicy:
        """A single attempt, as for probes."""
        return cls(attempts=1, budget_s=within_s)

    def for_queries(self, budget_s: float) -> RetryPolicy:
        """Somebody waits: fewer attempts, within the time-out of a single call."""
        return replace(self, attempts=min(self.attempts, 4), budget_s=min(self.budget_s, budget_s))

    def wait(self, attempt: int, asked: float | None) -> float:
        """Seconds before the next try; ``attempt`` counts from 1, ``asked`` is Retry-After.

        Exponential with full jitter (Brooker: Exponential Backoff And Jitter, AWS Architecture
        Blog, 2015). What the server asked for is never undercut; the jitter on top keeps waiters
        from coming back all at once.
        """
        ceiling = min(self.longest_wait_s, self.first_wait_s * 2 ** min(attempt - 1, 30))
        jitter = random.uniform(0, ceiling)  # noqa: S311 - spreads load, guards nothing
        return jitter if asked is None else asked + min(jitter, 1.0)


class Retries:
    """The attempts at one request: iterate (``for`` or ``async for``) and enter each.

    Retries `TransientError` within the policy and `UnusableAnswerError` once; the last error is
    let through. A wait that would end after the budget is not begun.
    """

    def __init__(self, policy: RetryPolicy) -> None:
        self._policy = policy
        self._deadline = monotonic() + policy.budget_s
        self._failures = 0

    @property
    def seconds_left(self) -> float:
        """What the next attempt may take."""
        return max(LEAST_S, self._deadline - monotonic())

    def __iter__(self) -> Iterator[Attempt]:
        attempts = self._policy.attempts
        return iter(stamina.retry_context(self._pause, attempts=attempts, timeout=None))

    def __aiter__(self) -> AsyncIterator[Attempt]:
        attempts = self._policy.attempts
        return aiter(stamina.retry_context(self._pause, attempts=attempts, timeout=None))

    def _pause(self, error: Exception) -> bool | float:
        self._failures += 1
        if isinstance(error, UnusableAnswerError):
            if self._failures > 1:
                return False
            asked = None
        elif isinstance(error, TransientError):
            asked = error.retry_after
        else:
            return False
        wait = self._policy.wait(self._failures, asked)
        return wait if wait + LEAST_S < self.seconds_left else False
