"""From what a finished Job handed over to the fields of a status."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragbase_operator.models.kinds import BACKUP, BENCHMARK

__all__ = ["result_of"]

_BACKUP_ROOT = "/backup/"
_COPIED = {
    "bytes": "bytes",
    "documents": "documents",
    "chunks": "chunks",
    "version": "version",
    "taken_at": "takenAt",
    "checksums_compared": "checksumsCompared",
    "migrated": "migrated",
    "healed": "healed",
}
_RESTORED = frozenset({"takenAt", "documents", "chunks", "checksumsCompared", "migrated", "healed"})
_BACKED_UP = frozenset({"takenAt", "documents", "chunks", "bytes", "version"})


def result_of(
    kind: str, step: str, summary: Mapping[str, Any], so_far: Mapping[str, Any]
) -> dict[str, Any]:
    """Fields of the status; {} where the Job told nothing."""
    if not summary:
        return {}
    if kind != BENCHMARK.name:
        return _data(summary, _BACKED_UP if kind == BACKUP.name else _RESTORED)
    rows = _quality(summary) if step == "quality" else _latency(summary)
    failed = sum(int(row["failed"]) for row in next(iter(rows.values())))
    found: dict[str, Any] = {**rows, "errors": int(so_far.get("errors") or 0) + failed}
    if summary.get("dataset"):
        found["dataset"] = str(summary["dataset"])
    return found


def _data(summary: Mapping[str, Any], wanted: frozenset[str]) -> dict[str, Any]:
    found = {
        field: summary[name]
        for name, field in _COPIED.items()
        if field in wanted and summary.get(name) is not None
    }
    if summary.get("path"):
        found["path"] = str(summary["path"]).removeprefix(_BACKUP_ROOT)
    return found


def _latency(summary: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    return {
        "latency": [
            {
                "mode": run["mode"],
                "concurrency": run["concurrency"],
                "p50Ms": run["p50"],
                "p95Ms": run["p95"],
                "p99Ms": run["p99"],
                "queriesPerSecond": run["qps"],
                "failed": run["failed"],
                "degraded": run["degraded"],
            }
            for run in summary.get("runs") or []
        ]
    }


def _quality(summary: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    return {
        "quality": [
            {
                "mode": mode["mode"],
                "ndcg10": mode["measures"].get("nDCG@10"),
                "measures": mode["measures"],
                "queries": mode["queries"],
                "failed": mode["failed"],
                "degraded": mode["degraded"],
            }
            for mode in summary.get("modes") or []
        ]
    }
