"""What an error means for its job."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

import pytest

from ragbase.errors import (
    ConfigurationError,
    ConflictError,
    DatabaseUnavailableError,
    InvalidInputError,
    NotFoundError,
    OverloadedError,
    TooLargeError,
    UpstreamError,
)
from ragbase.models.jobs import ClaimedJob
from ragbase.worker.verdict import LONGEST_WAIT_S, judge


def job(attempts: int = 1, max_attempts: int = 10) -> ClaimedJob:
    at = datetime.now(UTC)
    return ClaimedJob(
        1, "ingest", "ingest", uuid.uuid4(), attempts, max_attempts, "default", None, {}, None, at
    )


@pytest.mark.parametrize(
    "error",
    [
        DatabaseUnavailableError("x"),
        UpstreamError("x"),
        OverloadedError("x"),
        ConflictError("x"),
        ValueError("x"),
    ],
)
def test_what_may_heal_is_tried_again(error: Exception) -> None:
    assert judge(error, job()).again_s is not None


@pytest.mark.parametrize(
    "error",
    [InvalidInputError("x"), TooLargeError("x"), NotFoundError("x"), ConfigurationError("x")],
)
def test_what_somebody_must_change_is_not(error: Exception) -> None:
    assert judge(error, job()).again_s is None


@pytest.mark.parametrize(("attempts", "least", "most"), [(1, 1, 2), (2, 2, 4), (5, 16, 32)])
def test_waits_double_with_jitter_in_the_upper_half(
    attempts: int, least: float, most: float
) -> None:
    waits = [judge(UpstreamError("x"), job(attempts)).again_s or 0 for _ in range(200)]
    assert least <= min(waits) < max(waits) <= most


def test_waits_have_a_bound() -> None:
    assert (judge(UpstreamError("x"), job(500, 1000)).again_s or 0) <= LONGEST_WAIT_S


def test_a_server_that_asks_for_more_time_gets_it() -> None:
    assert judge(OverloadedError("x", retry_after=90), job()).again_s == 90


@pytest.mark.parametrize(
    ("error", "attempts", "more"),
    [
        (UpstreamError("x"), 9, True),
        (UpstreamError("x"), 10, False),
        (KeyError("x"), 2, True),
        (KeyError("x"), 3, False),
    ],
)
def test_attempts_have_a_bound_and_faults_of_our_own_a_lower_one(
    error: Exception, attempts: int, more: bool
) -> None:
    assert (judge(error, job(attempts)).again_s is not None) == more


def test_a_fault_of_our_own_tells_callers_nothing() -> None:
    verdict = judge(KeyError("secret"), job())
    assert verdict.code == "internal_error"
    assert "secret" not in verdict.message
