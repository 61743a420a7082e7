"""When a request is worth another try, and after how long."""

from __future__ import annotations

import random
from collections.abc import Iterator
from http import HTTPStatus

__all__ = ["delays", "may_pass", "retry_after"]

FIRST_DELAY_S = 0.25
LONGEST_DELAY_S = 8.0
LONGEST_RETRY_AFTER_S = 30.0
"""A server that asks for more is not waited for: the reconcile loop comes back on its own."""


def may_pass(status: int) -> bool:
    """Whether a response tells of an overload or a fault that may pass."""
    return status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR


def delays(attempts: int) -> Iterator[float]:
    """Seconds before the second try, the third, … of ``attempts``: doubled each time, halved at
    most by jitter, so that many objects do not come back at once."""
    delay = FIRST_DELAY_S
    for _ in range(attempts - 1):
        yield random.uniform(delay / 2, delay)  # noqa: S311 - jitter is no secret
        delay = min(delay * 2, LONGEST_DELAY_S)


def retry_after(value: str | None) -> float:
    """Seconds that a ``Retry-After`` header asks for; 0 where it is absent or a date.

    Kubernetes sends seconds only (k8s.io/apiserver, flow control and time-outs).
    """
    return float(value) if value is not None and value.isascii() and value.isdigit() else 0.0
