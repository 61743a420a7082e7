"""Evaluations and load runs as JSON and as Prometheus text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ragbase.evaluation.latency import Latency
from ragbase.evaluation.load import LoadResult
from ragbase.evaluation.measures import Scores
from ragbase.evaluation.quality import ModeResult, SplitResult
from ragbase.evaluation.session import Evaluation, ModeDifference

__all__ = ["evaluation_json", "load_json", "load_prometheus"]


def evaluation_json(evaluation: Evaluation) -> dict[str, Any]:
    """The whole evaluation; measures to four decimals, times in milliseconds to three."""
    dataset, plan = evaluation.plan.dataset, evaluation.plan
    return {
        "dataset": {
            "name": dataset.name,
            "documents": len(dataset.documents),
            "blank_documents_skipped": dataset.blank_documents,
            "queries": len(dataset.queries),
            "unjudged_queries_skipped": dataset.unjudged_queries,
        },
        "split": plan.split,
        "collection": evaluation.collection,
        "fusion": plan.fusion,
        "concurrency": plan.concurrency,
        "server": asdict(evaluation.server),
        "ingest": {
            "seconds": round(evaluation.ingest_seconds, 3),
            "chunks": evaluation.ingest.chunks,
            "created": evaluation.ingest.created,
            "replaced": evaluation.ingest.replaced,
            "unchanged": evaluation.ingest.unchanged,
            "failures": [asdict(failure) for failure in evaluation.ingest.failures],
        },
        "modes": [_mode_json(mode) for mode in evaluation.modes],
        "differences": [_difference_json(one) for one in evaluation.differences()],
        "header_ablation": {name: _mode_json(mode) for name, mode in evaluation.ablation.items()},
        "failed": evaluation.failed,
    }


def load_json(results: Sequence[LoadResult], **facts: Any) -> dict[str, Any]:
    """Load figures with whatever ``facts`` say about the run."""
    return {
        **facts,
        "runs": [
            {
                "mode": result.mode,
                "concurrency": result.concurrency,
                "qps": round(result.qps, 2),
                "latency_ms": _latency_json(result.latency),
                "stages_ms": {name: _latency_json(time) for name, time in result.stages.items()},
                "failed": result.failed,
                "failures": dict(result.failures),
                "degraded": result.degraded,
            }
            for result in results
        ],
        "failed": sum(result.failed for result in results),
    }


def load_prometheus(results: Iterable[LoadResult]) -> str:
    """Prometheus' text format; times in seconds."""
    families: dict[str, list[str]] = {
        "ragbase_benchmark_seconds": [],
        "ragbase_benchmark_stage_seconds": [],
        "ragbase_benchmark_queries_per_second": [],
        "ragbase_benchmark_failed_calls": [],
    }
    for result in results:
        where = {"mode": result.mode, "concurrency": str(result.concurrency)}
        families["ragbase_benchmark_seconds"] += _quantiles(
            "ragbase_benchmark_seconds", where, result.latency
        )
        for stage, latency in result.stages.items():
            families["ragbase_benchmark_stage_seconds"] += _quantiles(
                "ragbase_benchmark_stage_seconds", {**where, "stage": stage}, latency
            )
        families["ragbase_benchmark_queries_per_second"].append(
            _sample("ragbase_benchmark_queries_per_second", where, result.qps)
        )
        families["ragbase_benchmark_failed_calls"].append(
            _sample("ragbase_benchmark_failed_calls", where, result.failed)
        )
    lines = [
        line
        for name, samples in families.items()
        if samples
        for line in (f"# TYPE {name} gauge", *samples)
    ]
    return "\n".join(lines) + "\n"


def _mode_json(mode: ModeResult) -> dict[str, Any]:
    return {
        "mode": mode.name,
        "splits": {name: _split_json(result) for name, result in mode.splits.items()},
        "latency_ms": _latency_json(mode.latency),
        "failed": len(mode.failures),
        "failures": dict(mode.failures),
        "degraded": mode.degraded,
    }


def _difference_json(one: ModeDifference) -> dict[str, Any]:
    return {
        "mode": one.mode,
        "against": one.against,
        "measure": one.measure,
        "splits": {
            split: {name: round(value, 4) for name, value in asdict(found).items()}
            for split, found in one.splits.items()
        },
    }


def _split_json(result: SplitResult) -> dict[str, Any]:
    body: dict[str, Any] = {"queries": result.queries, "measures": _rounded(result.measures)}
    if result.families:
        body["families"] = {
            name: {"queries": family.queries, "measures": _rounded(family.measures)}
            for name, family in result.families.items()
        }
    return body


def _rounded(measures: Scores) -> Scores:
    return {name: round(value, 4) for name, value in measures.items()}


def _latency_json(latency: Latency) -> dict[str, float]:
    return {name: round(value, 3) for name, value in asdict(latency).items()}


def _quantiles(name: str, labels: Mapping[str, str], latency: Latency) -> list[str]:
    shares = {"0.5": latency.p50, "0.95": latency.p95, "0.99": latency.p99}
    return [
        _sample(name, {**labels, "quantile": share}, milliseconds / 1000)
        for share, milliseconds in shares.items()
    ]


def _sample(name: str, labels: Mapping[str, str], value: float) -> str:
    inside = ",".join(f'{label}="{text}"' for label, text in labels.items())
    return f"{name}{{{inside}}} {value:.9g}"
