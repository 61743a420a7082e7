"""``--summary FILE``: the outcome of a command for the one who started it, such as a Kubernetes Job."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["LIMIT", "Summary", "evaluation_summary", "load_summary", "write_summary"]

LIMIT = 4_096
"""Bytes of a container's termination message, set by Kubernetes."""

Summary = Annotated[
    Path | None,
    typer.Option(
        "--summary",
        metavar="FILE",
        help="Also write the outcome to FILE: one line of JSON, at most 4,096 bytes, as Kubernetes "
        "takes from /dev/termination-log.",
        show_default=False,
    ),
]


def write_summary(file: Path | None, summary: Mapping[str, Any]) -> None:
    """Write ``summary`` where a file is given. One that is too long is left out, and says so."""
    if file is None:
        return
    text = json.dumps(summary, ensure_ascii=False, separators=(",", ":"))
    if len(text.encode()) > LIMIT:
        text = json.dumps({"error": f"the outcome is longer than {LIMIT} bytes"})
    file.write_text(text, encoding="utf-8")


def load_summary(report: Mapping[str, Any]) -> dict[str, Any]:
    """Of the JSON report of `bench`: a row for each mode and number of callers."""
    return {"dataset": report.get("dataset"), "runs": [_run(each) for each in report["runs"]]}


def evaluation_summary(report: Mapping[str, Any]) -> dict[str, Any]:
    """Of the JSON report of `eval`: the measures of each mode on the whole split."""
    modes: Iterable[Mapping[str, Any]] = report["modes"]
    return {"dataset": report["dataset"]["name"], "modes": [_mode(each) for each in modes]}


def _run(run: Mapping[str, Any]) -> dict[str, Any]:
    times = {name: run["latency_ms"][name] for name in ("p50", "p95", "p99")}
    return {
        name: run[name] for name in ("mode", "concurrency", "qps", "failed", "degraded")
    } | times


def _mode(mode: Mapping[str, Any]) -> dict[str, Any]:
    split = next(iter(mode["splits"].values()))
    return {
        "mode": mode["mode"],
        "measures": split["measures"],
        "queries": split["queries"],
        "failed": mode["failed"],
        "degraded": mode["degraded"],
    }
