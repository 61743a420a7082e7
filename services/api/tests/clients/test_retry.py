"""How long a retry waits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragbase.clients.answers import TransientError, retry_after
from ragbase.clients.retry import Retries, RetryPolicy

POLICY = RetryPolicy(first_wait_s=0.2, longest_wait_s=10.0)


@given(st.integers(1, 1000))
def test_waits_grow_to_their_bound_and_no_further(attempt: int) -> None:
    assert 0 <= POLICY.wait(attempt, None) <= min(10.0, 0.2 * 2 ** min(attempt - 1, 20))


def test_waits_are_spread() -> None:
    assert len({POLICY.wait(5, None) for _ in range(20)}) > 10


@given(st.integers(1, 50), st.floats(0, 3600))
def test_what_the_server_asked_for_is_never_undercut(attempt: int, asked: float) -> None:
    assert asked <= POLICY.wait(attempt, asked) <= asked + 1.0


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("2", 2.0),
        (" 7 ", 7.0),
        ("0.5", 0.5),
        ("Wed, 21 Oct 2015 07:28:10 GMT", 10.0),
        ("Wed, 21 Oct 2015 07:27:00 GMT", 0.0),
        ("", None),
        ("-3", None),
        ("soon", None),
        ("nan", None),
        ("9" * 400, None),
    ],
)
def test_retry_after_is_a_number_or_a_date(value: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": value}, now=1445412480.0) == seconds


def test_no_header_asks_for_nothing() -> None:
    assert retry_after({}) is None


def test_queries_get_fewer_attempts_in_the_time_of_one_call() -> None:
    hurry = RetryPolicy().for_queries(30.0)
    assert (hurry.attempts, hurry.budget_s) == (4, 30.0)


def test_other_errors_are_not_retried() -> None:
    tries = 0

    def work() -> None:
        nonlocal tries
        for attempt in Retries(RetryPolicy(first_wait_s=0.001)):
            with attempt:
                tries += 1
                raise TransientError("once") if tries == 1 else KeyError

    with pytest.raises(KeyError):
        work()
    assert tries == 2
