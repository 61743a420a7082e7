"""Metrics of the operator; names are those that dashboards and alerts use."""

from __future__ import annotations

import time
from collections import Counter as Tally
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
)

from ragbase_operator.cluster.port import ClusterError
from ragbase_operator.logs import get_logger
from ragbase_operator.reconcile.context import Outcome

__all__ = ["Metrics"]

disable_created_metrics()  # type: ignore[no-untyped-call]  # a series more a counter, unasked

_BUCKETS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)
_PREFIX = "ragbase_operator"
_WHERE = ("namespace", "ragbase")


class Metrics:
    """Implements `Meter` and `Gauge`, and logs what goes wrong, each thing once."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._log = get_logger("ragbase_operator")
        self._conditions: dict[tuple[str, str], tuple[tuple[str, str], ...]] = {}
        self._errors: dict[str, str] = {}
        self._passes = Counter(
            f"{_PREFIX}_reconcile", "Passes.", ("kind", "result"), registry=self.registry
        )
        self._seconds = Histogram(
            f"{_PREFIX}_reconcile_seconds",
            "Time of a pass.",
            ("kind",),
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self._objects = Gauge(
            f"{_PREFIX}_objects",
            "Resources by condition.",
            ("kind", "condition", "status"),
            registry=self.registry,
        )
        self._applies = Counter(
            f"{_PREFIX}_apply",
            "Children by what was done.",
            ("kind", "outcome"),
            registry=self.registry,
        )
        self.watch_age = Gauge(
            f"{_PREFIX}_watch_age_seconds",
            "Since the heartbeat was seen through the watch.",
            registry=self.registry,
        )
        self._success = Gauge(
            f"{_PREFIX}_last_success_timestamp_seconds",
            "When a pass last came to its end.",
            registry=self.registry,
        )
        self._backup = Gauge(
            f"{_PREFIX}_last_backup_timestamp_seconds",
            "When the last backup of a RagBase was taken.",
            _WHERE,
            registry=self.registry,
        )
        self._latency = Gauge(
            "ragbase_benchmark_seconds",
            "Latency of searches in the last finished benchmark.",
            (*_WHERE, "mode", "quantile"),
            registry=self.registry,
        )
        self._quality = Gauge(
            "ragbase_benchmark_quality",
            "Quality of answers in the last finished benchmark.",
            (*_WHERE, "dataset", "measure"),
            registry=self.registry,
        )

    def applied(self, kind: str, outcome: str) -> None:
        """See `Meter.applied`."""
        self._applies.labels(kind, outcome).inc()

    def passed(self, kind: str, uid: str, seconds: float, outcome: Outcome) -> None:
        """See `Gauge.passed`."""
        self._passes.labels(kind, outcome.result).inc()
        self._seconds.labels(kind).observe(seconds)
        self._success.set(time.time())
        if self._errors.pop(uid, None) is not None:
            self._log.info("reconcile_recovered", kind=kind, uid=uid)
        if self._conditions.get((kind, uid)) != outcome.conditions:
            self._conditions[kind, uid] = outcome.conditions
            self._recount(kind)

    def failed(self, kind: str, uid: str, seconds: float, error: Exception) -> None:
        """See `Gauge.failed`. The same error again is no news."""
        self._passes.labels(kind, "error").inc()
        self._seconds.labels(kind).observe(seconds)
        told = repr(error)
        if self._errors.get(uid) == told:
            return
        self._errors[uid] = told
        if isinstance(error, ClusterError):
            self._log.warning("reconcile_failed", kind=kind, uid=uid, error=str(error))
        else:
            self._log.error("reconcile_broke", kind=kind, uid=uid, exc_info=error)

    def forget(self, kind: str, uid: str) -> None:
        """The resource is gone."""
        self._errors.pop(uid, None)
        if self._conditions.pop((kind, uid), None) is not None:
            self._recount(kind)

    def benchmarked(self, namespace: str, ragbase: str, status: Mapping[str, Any]) -> None:
        """The result of a finished benchmark, from its status; the latest one stays."""
        for row in _lowest_concurrency(status.get("latency") or []):
            for quantile, field in (("0.5", "p50Ms"), ("0.95", "p95Ms"), ("0.99", "p99Ms")):
                self._latency.labels(namespace, ragbase, row["mode"], quantile).set(
                    row[field] / 1000
                )
        for row in status.get("quality") or []:
            for measure, value in (row.get("measures") or {}).items():
                self._quality.labels(
                    namespace, ragbase, status.get("dataset", ""), f"{row['mode']} {measure}"
                ).set(value)

    def backed_up(self, namespace: str, ragbase: str, when: str | None) -> None:
        """The last backup, as the status tells it in RFC 3339; nothing where there was none."""
        if when is not None:
            moment = datetime.fromisoformat(when)
            self._backup.labels(namespace, ragbase).set(moment.timestamp())

    def gone(self, namespace: str, ragbase: str) -> None:
        """A RagBase was deleted: no series speaks of it any longer."""
        for gauge in (self._backup, self._latency, self._quality):
            gauge.remove_by_labels({"namespace": namespace, "ragbase": ragbase})

    def _recount(self, kind: str) -> None:
        tally = Tally(
            pair
            for (of, _), conditions in self._conditions.items()
            if of == kind
            for pair in conditions
        )
        for condition, status in {*tally, *self._known(kind)}:
            self._objects.labels(kind, condition, status).set(tally[condition, status])

    def _known(self, kind: str) -> set[tuple[str, str]]:
        return {
            (sample.labels["condition"], sample.labels["status"])
            for family in self._objects.collect()
            for sample in family.samples
            if sample.labels["kind"] == kind
        }


def _lowest_concurrency(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The rows that show latency without a queue: the gauge has no label for callers."""
    lowest: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        if row["mode"] not in lowest or row["concurrency"] < lowest[row["mode"]]["concurrency"]:
            lowest[row["mode"]] = row
    return list(lowest.values())
