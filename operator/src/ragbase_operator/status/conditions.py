"""Conditions with their times: a time moves only when the status does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from ragbase_operator.status.verdict import Verdict

__all__ = ["Transition", "merge_conditions", "timestamp", "transitions"]

Transition = tuple[dict[str, Any] | None, dict[str, Any]]
"""A condition before (None: there was none) and after."""


def timestamp(moment: datetime) -> str:
    """RFC 3339 to the second, as Kubernetes writes it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def merge_conditions(
    before: Iterable[Mapping[str, Any]],
    verdicts: Mapping[Any, Verdict],
    generation: int,
    now: datetime,
) -> list[dict[str, Any]]:
    """Conditions of ``verdicts``, in their order, after those of ``before``."""
    known = {condition["type"]: condition for condition in before}
    return [
        {
            "type": str(kind),
            "status": verdict.status,
            "observedGeneration": generation,
            "lastTransitionTime": _since(known.get(str(kind)), verdict, now),
            "reason": str(verdict.reason),
            "message": verdict.message,
        }
        for kind, verdict in verdicts.items()
    ]


def transitions(
    before: Iterable[Mapping[str, Any]], after: Iterable[dict[str, Any]]
) -> list[Transition]:
    """Conditions whose status or reason differ."""
    known = {condition["type"]: dict(condition) for condition in before}
    return [
        (known.get(condition["type"]), condition)
        for condition in after
        if _key(known.get(condition["type"])) != _key(condition)
    ]


def _key(condition: Mapping[str, Any] | None) -> tuple[Any, Any] | None:
    return None if condition is None else (condition.get("status"), condition.get("reason"))


def _since(before: Mapping[str, Any] | None, verdict: Verdict, now: datetime) -> str:
    if before is not None and before.get("status") == verdict.status:
        return str(before.get("lastTransitionTime") or timestamp(now))
    return timestamp(now)
