"""Changes that are made again where Postgres ended them to let another one through."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Final, ParamSpec, TypeVar

import stamina

from ragbase.errors import RagBaseError

__all__ = ["DEADLOCK", "again_after_deadlock"]

P = ParamSpec("P")
T = TypeVar("T")

DEADLOCK: Final = "database_deadlock"
"""The code that `ragbase.storage.faults` gives such an end."""
TRIES: Final = 4
_FIRST_WAIT_S: Final = 0.02
_LONGEST_WAIT_S: Final = 0.5


def again_after_deadlock(change: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
    """``change``, begun anew after a deadlock, `TRIES` times in all; then its error passes.

    Two changes that wait for each other's rows are met by Postgres ending one: nothing of that is
    stored, and the other is through. So ``change`` must do nothing outside its transaction that it
    may not do twice.
    """

    @wraps(change)
    async def changed(*args: P.args, **kwargs: P.kwargs) -> T:
        # Not stamina's decorator: it writes the arguments, a document's text, into the log.
        async for attempt in stamina.retry_context(
            on=_is_deadlock,
            attempts=TRIES,
            timeout=None,
            wait_initial=_FIRST_WAIT_S,
            wait_max=_LONGEST_WAIT_S,
            wait_jitter=_FIRST_WAIT_S,
        ):
            with attempt:
                return await change(*args, **kwargs)
        raise AssertionError("the last attempt returns or raises")

    return changed


def _is_deadlock(error: Exception) -> bool:
    return isinstance(error, RagBaseError) and error.code == DEADLOCK
