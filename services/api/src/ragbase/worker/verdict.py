"""What the error of an attempt means for its job."""

from __future__ import annotations

import random
from dataclasses import dataclass

from ragbase.errors import (
    ConflictError,
    LlmUnavailableError,
    OverloadedError,
    RagBaseError,
    UnavailableError,
    UpstreamError,
)
from ragbase.models.jobs import ClaimedJob

__all__ = ["Verdict", "judge"]

FIRST_WAIT_S = 2.0
LONGEST_WAIT_S = 300.0
LONGEST_ASKED_S = 3600.0
"""A server that asks for a longer pause (a day's quota is used up) is asked once an hour."""
FAULT_ATTEMPTS = 3
"""Attempts at a job that meets a fault of our own: it will hardly go away."""

_MAY_HEAL = (UnavailableError, OverloadedError, UpstreamError, ConflictError)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Reason for callers, and seconds until the next attempt; None: there is none."""

    code: str
    message: str
    again_s: float | None


def judge(error: Exception, job: ClaimedJob) -> Verdict:
    """Whether the job is tried again, when, and what its callers are told."""
    if isinstance(error, _MAY_HEAL):
        return Verdict(error.code, error.message, _wait(error, job, job.max_attempts))
    if isinstance(error, RagBaseError):
        return Verdict(error.code, error.message, None)
    message = "The job met a fault of RagBase's own; the worker's log tells more."
    most = min(FAULT_ATTEMPTS, job.max_attempts)
    return Verdict("internal_error", message, _wait(error, job, most))


def _wait(error: Exception, job: ClaimedJob, most: int) -> float | None:
    """Exponential, the upper half at random, so that jobs which failed together come back apart."""
    if job.attempts >= most:
        return None
    ceiling = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2 ** min(job.attempts - 1, 30))
    wait = random.uniform(ceiling / 2, ceiling)  # noqa: S311 - spreads load, guards nothing
    asked = 0.0
    if isinstance(error, OverloadedError | LlmUnavailableError):
        asked = min(error.retry_after, LONGEST_ASKED_S)
    return max(wait, asked)
