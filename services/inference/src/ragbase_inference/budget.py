"""How large a batch may be, as the device's memory teaches."""

from __future__ import annotations

import logging
import threading

__all__ = ["CostBudget"]

log = logging.getLogger(__name__)

_REGROW_AFTER = 1000
"""Batches without want of memory after which more is tried: what held it may be gone."""


class CostBudget:
    """A limit that falls to what fitted where memory ran out, and slowly rises again.

    Safe to use from several threads.
    """

    def __init__(self, ceiling: int) -> None:
        self.limit = ceiling
        self._ceiling = ceiling
        self._quiet = 0
        self._lock = threading.Lock()

    def fell_short(self, wanted: int, fitted: int) -> None:
        """A batch of cost ``wanted`` did not fit, one of ``fitted`` did.

        An item that costs more than the limit still runs, alone.
        """
        with self._lock:
            self._quiet = 0
            if fitted < self.limit:
                self.limit = max(1, fitted)
                log.warning(
                    "out of memory on a batch of %d tokens; batches hold at most %d from now on",
                    wanted,
                    self.limit,
                )

    def sufficed(self) -> None:
        """A batch fitted."""
        with self._lock:
            if self.limit == self._ceiling:
                return
            self._quiet += 1
            if self._quiet >= _REGROW_AFTER:
                self._quiet = 0
                self.limit = min(self._ceiling, self.limit + max(1, self.limit // 4))
                log.info("batches hold up to %d tokens again", self.limit)
