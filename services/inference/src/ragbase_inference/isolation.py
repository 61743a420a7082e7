"""Runs a batch so that every item gets its own result or its own error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from ragbase_inference.budget import CostBudget
from ragbase_inference.errors import ModelFailedError, OutOfMemoryError

__all__ = ["IsolatingRunner"]

Item = TypeVar("Item")
Result = TypeVar("Result")


class IsolatingRunner(Generic[Item, Result]):
    """A batch that fails is halved until the culprit is alone; one too large, until it fits.

    ``on_oom`` is told, on the calling thread, how many items each batch had that did not fit.
    """

    def __init__(
        self,
        run: Callable[[Sequence[Item]], Sequence[Result]],
        *,
        cost: Callable[[Item], int],
        budget: CostBudget,
        on_oom: Callable[[int], None] | None = None,
    ) -> None:
        self._run = run
        self._cost = cost
        self._budget = budget
        self._on_oom = on_oom

    def outcomes(self, items: Sequence[Item]) -> list[Result | BaseException]:
        """One result or error an item, in order. Results that are exceptions are errors."""
        try:
            outcomes = self._whole(items)
        except OutOfMemoryError as error:
            # A new error: the frames of the old one hold the tensors that are in the way.
            failure: Exception = OutOfMemoryError(str(error))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the caller's to see
            failure = error
        else:
            self._budget.sufficed()
            return outcomes
        if isinstance(failure, OutOfMemoryError):
            return self._smaller(items, failure)
        return self._halves(items, failure)

    def _whole(self, items: Sequence[Item]) -> list[Result | BaseException]:
        results = self._run(items)
        if len(results) != len(items):
            raise ModelFailedError(f"{len(items)} items gave {len(results)} results")
        return list(results)

    def _halves(self, items: Sequence[Item], error: Exception) -> list[Result | BaseException]:
        if len(items) == 1:
            return [error]
        middle = len(items) // 2
        return self.outcomes(items[:middle]) + self.outcomes(items[middle:])

    def _smaller(
        self, items: Sequence[Item], error: OutOfMemoryError
    ) -> list[Result | BaseException]:
        if self._on_oom is not None:
            self._on_oom(len(items))
        outcomes = self._halves(items, error)
        if len(items) > 1 and not any(isinstance(one, OutOfMemoryError) for one in outcomes):
            wanted = len(items) * max(self._cost(item) for item in items)
            self._budget.fell_short(wanted, wanted // 2)
        return outcomes
