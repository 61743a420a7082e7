"""The operator's own metrics."""

from __future__ import annotations

from typing import Any

from ragbase_operator.handlers.metrics import Metrics
from ragbase_operator.reconcile.context import Outcome

BENCHMARK: dict[str, Any] = {
    "dataset": "builtin",
    "latency": [
        {"mode": "hybrid", "concurrency": 8, "p50Ms": 40.0, "p95Ms": 90.0, "p99Ms": 120.0},
        {"mode": "hybrid", "concurrency": 1, "p50Ms": 10.0, "p95Ms": 20.0, "p99Ms": 30.0},
    ],
    "quality": [{"mode": "hybrid", "measures": {"nDCG@10": 0.7}}],
}


def _samples(metrics: Metrics, name: str) -> dict[tuple[str, ...], float]:
    return {
        tuple(sample.labels.values()): sample.value
        for family in metrics.registry.collect()
        for sample in family.samples
        if sample.name == name
    }


def test_a_benchmark_is_told_in_seconds_and_without_a_queue() -> None:
    metrics = Metrics()
    metrics.benchmarked("search", "docs", BENCHMARK)
    assert _samples(metrics, "ragbase_benchmark_seconds") == {
        ("search", "docs", "hybrid", "0.5"): 0.01,
        ("search", "docs", "hybrid", "0.95"): 0.02,
        ("search", "docs", "hybrid", "0.99"): 0.03,
    }
    assert _samples(metrics, "ragbase_benchmark_quality") == {
        ("search", "docs", "builtin", "hybrid nDCG@10"): 0.7
    }


def test_the_last_backup_is_told_in_seconds_since_the_epoch() -> None:
    metrics = Metrics()
    metrics.backed_up("search", "never", None)
    metrics.backed_up("search", "docs", "2026-11-30T08:00:00Z")
    assert _samples(metrics, "ragbase_operator_last_backup_timestamp_seconds") == {
        ("search", "docs"): 1796025600.0
    }


def test_no_series_speaks_of_a_ragbase_that_is_gone() -> None:
    """Else they would pile up for as long as the operator runs, and alert for ever (B099)."""
    metrics = Metrics()
    for name in ("docs", "other"):
        metrics.benchmarked("search", name, BENCHMARK)
        metrics.backed_up("search", name, "2026-11-30T08:00:00Z")
    metrics.gone("search", "docs")
    for name in (
        "benchmark_seconds",
        "benchmark_quality",
        "operator_last_backup_timestamp_seconds",
    ):
        left = _samples(metrics, f"ragbase_{name}")
        assert {labels[1] for labels in left} == {"other"}


def test_passes_over_many_objects_make_no_more_series() -> None:
    """No name and no uid is a label (B099)."""
    metrics = Metrics()

    def series() -> int:
        return sum(len(family.samples) for family in metrics.registry.collect())

    metrics.passed("RagBase", "uid", 0.1, Outcome(60, "ready", (("Ready", "True"),)))
    before = series()
    for number in range(2000):
        metrics.passed("RagBase", f"uid-{number}", 0.1, Outcome(60, "ready", (("Ready", "True"),)))
        metrics.failed("RagBase", f"uid-{number}", 0.1, TimeoutError(str(number)))
    assert series() - before == 1  # of `result="error"`
    counted = _samples(metrics, "ragbase_operator_objects")
    assert counted["RagBase", "Ready", "True"] == 2001
