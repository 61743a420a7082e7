"""Runs the arms of a search at the same time, each within its budget and failing alone."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from ragbase.errors import (
    DeadlineExceededError,
    InvalidInputError,
    OverloadedError,
    RagBaseError,
    UnavailableError,
)
from ragbase.models.domain import ArmName, Hit
from ragbase.retrieval.arms import Arm, ArmAbsent, ArmQuery
from ragbase.retrieval.trace import Trace
from ragbase.telemetry.logs import get_logger

__all__ = ["failure_code", "failure_reason", "run_arms", "unexpected"]

_log = get_logger("ragbase.search")


async def run_arms(
    arms: Sequence[Arm], query: ArmQuery, budget_s: float
) -> dict[ArmName, list[Hit]]:
    """The rankings of the arms that answered; a failure becomes a warning in ``query.trace``.

    An arm that is absent does not count. Raises `UnavailableError` when some failed and none
    answered, or there is none to ask (`OverloadedError` when the only one is full), and
    `InvalidInputError` as an arm raises it.
    """
    attempts = [_attempt(arm, query, budget_s) for arm in arms]
    # One is waited for as it is: tasks cost hops of the event loop.
    outcomes = [await attempts[0]] if len(arms) == 1 else await asyncio.gather(*attempts)
    rankings: dict[ArmName, list[Hit]] = {}
    failures: dict[ArmName, Exception] = {}
    for arm, outcome in zip(arms, outcomes, strict=True):
        if isinstance(outcome, InvalidInputError):
            raise outcome
        if isinstance(outcome, ArmAbsent):
            continue
        if isinstance(outcome, Exception):
            failures[arm.name] = outcome
            _warn(query.trace, arm.name, outcome)
        else:
            rankings[arm.name] = outcome
    if not rankings and (failures or not arms):
        raise _nothing_left(failures)
    return rankings


async def _attempt(arm: Arm, query: ArmQuery, budget_s: float) -> list[Hit] | Exception:
    try:
        async with asyncio.timeout(budget_s):
            return await arm.retrieve(query)
    except Exception as error:  # noqa: BLE001 - whatever breaks one arm must not break the others
        return error


def failure_code(stage: str, error: Exception) -> str:
    """``<stage>_timeout`` or ``<stage>_unavailable``."""
    late = isinstance(error, TimeoutError | DeadlineExceededError)
    return f"{stage}_timeout" if late else f"{stage}_unavailable"


def failure_reason(error: Exception) -> str:
    """What may be told to a caller: our own messages, nothing of a library's."""
    if isinstance(error, RagBaseError):
        return error.message
    return "It took too long." if isinstance(error, TimeoutError) else "See the server's log."


def unexpected(error: Exception) -> Exception | None:
    """The error if its traceback is worth a place in the log."""
    return None if isinstance(error, RagBaseError | TimeoutError) else error


def _warn(trace: Trace, arm: ArmName, error: Exception) -> None:
    code = failure_code(arm, error)
    trace.fail(code, f"The {arm} arm did not answer. {failure_reason(error)}", arm)
    _log.warning("arm_failed", arm=arm, code=code, exc_info=unexpected(error))


def _nothing_left(failures: Mapping[ArmName, Exception]) -> RagBaseError:
    if not failures:
        return UnavailableError(
            "None of the arms that `fusion` gives weight to is configured on this server.",
            code="search_unavailable",
        )
    first = next(iter(failures.values()))
    if isinstance(first, OverloadedError) and len(failures) == 1:
        return first
    reasons = " ".join(f"{name}: {failure_reason(error)}" for name, error in failures.items())
    code = first.code if isinstance(first, UnavailableError) else failure_code("search", first)
    return UnavailableError(f"The search found no arm that answers. {reasons}", code=code)
