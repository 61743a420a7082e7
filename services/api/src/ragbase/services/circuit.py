"""A circuit breaker: after failures in a row a dependency is left alone until a probe succeeds.

Nygard: Release It! (2007), chapter 5. Closed: all calls go through. Open: none does, so that nobody
waits for what is down; a probe is due after a wait. Half-open, after a probe that succeeded: one
call at a time goes through, and closes the circuit by success or opens it for twice as long: a
server may be well enough for a probe and too slow for people.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Literal

from ragbase.errors import InvalidInputError, RagBaseError

__all__ = ["Circuit"]

FAILURES = 3
FIRST_WAIT_S = 2.0
LONGEST_WAIT_S = 60.0


class Circuit:
    """State of one dependency, for one process; ``opened`` is called when calls have opened it."""

    def __init__(
        self,
        opened: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.opened = opened
        self._clock = clock
        self._state: Literal["closed", "open", "half-open"] = "closed"
        self._failures = 0
        self._wait_s = FIRST_WAIT_S
        self._probe_at = 0.0
        self._trial = False
        self.reason = ""
        """The last failure, for people."""

    @property
    def admits(self) -> bool:
        """Whether a call may go through now."""
        return self._state == "closed" or (self._state == "half-open" and not self._trial)

    @property
    def is_open(self) -> bool:
        """Whether nothing goes through until a probe has succeeded."""
        return self._state == "open"

    @property
    def probe_due(self) -> bool:
        """Whether it is open and has been for long enough to look again."""
        return self.is_open and self._clock() >= self._probe_at

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """One call; its errors count, but for `InvalidInputError`, which is the caller's.

        To be entered only where `admits` says so.
        """
        trial = self._state == "half-open"
        self._trial = self._trial or trial
        try:
            yield
        except InvalidInputError:
            raise
        except Exception as error:
            self._failed(error)
            raise
        else:
            self._close()
        finally:
            if trial:  # also when the call was cancelled
                self._trial = False

    def probed(self, error: Exception | None) -> None:
        """Tell how a probe of the open circuit went."""
        if error is None:
            self._state = "half-open"
        else:
            self._open(error)

    def _failed(self, error: Exception) -> None:
        self._failures += 1
        if self._state == "half-open":
            self._wait_s = min(2 * self._wait_s, LONGEST_WAIT_S)
            self._open(error)
            self.opened()
        elif self._state == "closed" and self._failures >= FAILURES:
            self._open(error)
            self.opened()

    def _open(self, error: Exception) -> None:
        self.reason = error.message if isinstance(error, RagBaseError) else "See the server's log."
        self._state = "open"
        self._probe_at = self._clock() + self._wait_s

    def _close(self) -> None:
        self._state = "closed"
        self._failures = 0
        self._wait_s = FIRST_WAIT_S
