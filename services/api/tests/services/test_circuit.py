"""The circuit breaker, on a clock that the tests turn."""

from __future__ import annotations

import asyncio

import pytest

from ragbase.errors import InvalidInputError, UnavailableError
from ragbase.services.circuit import FAILURES, FIRST_WAIT_S, LONGEST_WAIT_S, Circuit

DOWN = UnavailableError("It cannot be reached.")


class Bench:
    """A circuit, its clock, and how often it opened."""

    def __init__(self) -> None:
        self.now = 100.0
        self.opened = 0
        self.circuit = Circuit(self._count, clock=lambda: self.now)

    def _count(self) -> None:
        self.opened += 1

    def succeed(self) -> None:
        with self.circuit.attempt():
            pass

    def fail(self, error: BaseException = DOWN, times: int = 1) -> None:
        for _ in range(times):
            with pytest.raises(type(error)), self.circuit.attempt():
                raise error

    def open(self) -> None:
        self.fail(times=FAILURES)

    def half_open(self) -> None:
        self.now += LONGEST_WAIT_S
        assert self.circuit.probe_due
        self.circuit.probed(None)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_it_opens_after_failures_in_a_row_and_says_why(bench: Bench) -> None:
    bench.fail(times=FAILURES - 1)
    bench.succeed()
    bench.fail(times=FAILURES - 1)
    assert bench.circuit.admits
    bench.fail()
    assert not bench.circuit.admits
    assert (bench.opened, bench.circuit.reason) == (1, "It cannot be reached.")


def test_errors_of_the_caller_and_cancellations_do_not_count(bench: Bench) -> None:
    bench.fail(InvalidInputError("no emoji"), times=9)
    bench.fail(asyncio.CancelledError(), times=9)
    assert bench.circuit.admits


def test_no_text_of_a_library_becomes_the_reason(bench: Bench) -> None:
    bench.fail(OSError("secret host"), times=FAILURES)
    assert "secret" not in bench.circuit.reason


def test_a_probe_is_due_after_a_wait_and_again_while_it_fails(bench: Bench) -> None:
    bench.open()
    for _ in range(5):
        assert not bench.circuit.probe_due
        bench.now += FIRST_WAIT_S
        assert bench.circuit.probe_due
        bench.circuit.probed(DOWN)
    assert bench.circuit.is_open


def test_after_a_probe_one_call_at_a_time_decides(bench: Bench) -> None:
    bench.open()
    bench.half_open()
    assert bench.circuit.admits
    with bench.circuit.attempt():
        assert not bench.circuit.admits
    assert bench.circuit.admits
    bench.fail(times=FAILURES - 1)
    assert bench.circuit.admits, "closed again: failures are counted from none"


def test_a_call_that_fails_after_a_probe_opens_it_for_twice_as_long(bench: Bench) -> None:
    bench.open()
    wait_s = FIRST_WAIT_S
    for _ in range(8):
        bench.half_open()
        bench.fail()
        wait_s = min(2 * wait_s, LONGEST_WAIT_S)
        bench.now += wait_s - 0.01
        assert not bench.circuit.probe_due
        bench.now += 0.02
        assert bench.circuit.probe_due
    assert wait_s == LONGEST_WAIT_S
    bench.half_open()
    bench.succeed()
    bench.open()
    bench.now += FIRST_WAIT_S
    assert bench.circuit.probe_due


def test_a_trial_that_was_cancelled_leaves_room_for_the_next(bench: Bench) -> None:
    bench.open()
    bench.half_open()
    bench.fail(asyncio.CancelledError())
    assert bench.circuit.admits


def test_a_late_answer_of_a_call_begun_before_closes_it(bench: Bench) -> None:
    with bench.circuit.attempt():
        bench.open()
    assert bench.circuit.admits


def test_late_failures_do_not_postpone_the_probe(bench: Bench) -> None:
    bench.open()
    bench.now += FIRST_WAIT_S
    bench.fail(times=9)
    assert bench.circuit.probe_due
    assert bench.opened == 1
