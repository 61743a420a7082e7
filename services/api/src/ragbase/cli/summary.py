"""``--summary FILE``: the outcome of a command for the one who started it, such as a Kubernetes Job."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["LIMIT", "Summary", "evaluation_summary", "fitted", "load_summary", "write_summary"]

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
    """Write ``summary`` where a file is given, shortened as `fitted` does."""
    if file is not None:
        file.write_text(_line(fitted(summary)), encoding="utf-8")


def fitted(summary: Mapping[str, Any]) -> dict[str, Any]:
    """``summary`` in at most `LIMIT` bytes.

    Where it is longer: numbers have four significant digits, then rows are left out from the end
    of the longest list, and then texts are cut. ``omitted`` says how many rows are missing.
    """
    found = dict(summary)
    if _size(found) > LIMIT:
        found = _rounded(found)
    omitted = 0
    while _size(found) > LIMIT and (name := _longest(found)):
        omitted += 1
        found = {**found, name: found[name][:-1], "omitted": omitted}
    longest = max((len(text) for text in found.values() if isinstance(text, str)), default=0)
    while _size(found) > LIMIT and longest:
        longest //= 2
        found = {
            name: value[:longest] if isinstance(value, str) else value
            for name, value in found.items()
        }
    return found


def load_summary(report: Mapping[str, Any]) -> dict[str, Any]:
    """Of the JSON report of `bench`: a row for each mode and number of callers."""
    return {"dataset": report.get("dataset"), "runs": [_run(each) for each in report["runs"]]}


def evaluation_summary(report: Mapping[str, Any]) -> dict[str, Any]:
    """Of the JSON report of `eval`: the measures of each mode on the whole split."""
    modes: Iterable[Mapping[str, Any]] = report["modes"]
    return {"dataset": report["dataset"]["name"], "modes": [_mode(each) for each in modes]}


def _line(summary: Mapping[str, Any]) -> str:
    return json.dumps(summary, ensure_ascii=False, separators=(",", ":"))


def _size(summary: Mapping[str, Any]) -> int:
    return len(_line(summary).encode())


def _longest(summary: Mapping[str, Any]) -> str | None:
    """The name of the list that takes most room; None where all are empty."""
    lists = {name: len(_line({"": v})) for name, v in summary.items() if isinstance(v, list) and v}
    return max(lists, key=lambda name: lists[name], default=None)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, Mapping):
        return {name: _rounded(part) for name, part in value.items()}
    return [_rounded(part) for part in value] if isinstance(value, list) else value


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
