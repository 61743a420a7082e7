"""A verdict: what one condition says, before it has times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ragbase_operator.status.faults import Fault
from ragbase_operator.status.reasons import Reason, TaskReason

__all__ = ["Status", "Verdict", "bad", "faulty", "good", "worst"]

Status = Literal["True", "False", "Unknown"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """As in a condition."""

    status: Status
    reason: Reason | TaskReason
    message: str


def good(reason: Reason, message: str) -> Verdict:
    """The condition holds."""
    return Verdict("True", reason, message)


def bad(reason: Reason, message: str) -> Verdict:
    """The condition does not hold."""
    return Verdict("False", reason, message)


def faulty(fault: Fault) -> Verdict:
    """The condition does not hold, for this fault."""
    return bad(fault.reason, fault.message)


_PATIENCE = (Reason.PROGRESSING, Reason.MIGRATION_RUNNING)
"""What passes without anybody's doing; a fault beside it is what the reader must see."""


def worst(verdicts: list[Verdict]) -> Verdict:
    """The one to show of several: a fault before what is under way before what is well."""
    return min(verdicts, key=_rank)


def _rank(verdict: Verdict) -> int:
    if verdict.status == "True":
        return 3 if verdict.reason is not Reason.ROLLING_OUT else 2
    return 1 if verdict.reason in _PATIENCE else 0
