"""Results of finished RagBaseBenchmarks."""

from __future__ import annotations

from typing import Final

from charts.monitoring.board import Board, Section, choice
from charts.monitoring.panels import bars, lines
from charts.monitoring.queries import THIS
from ragbase_operator.builders.rules import SEARCH_TARGETS

__all__ = ["BENCHMARKS"]

_SECONDS: Final = "ragbase_benchmark_seconds"
_QUALITY: Final = "ragbase_benchmark_quality"

_LATENCY: Final = Section(
    "Latency, at the fewest callers",
    (
        bars(
            "Last benchmark",
            "Time of a search by mode and quantile; `floor` is HTTP alone.",
            "s",
            [(f"max by (mode, quantile) ({_SECONDS}{{{THIS}}})", "{{mode}} {{quantile}}")],
        ),
        bars(
            "p95 against the target of the mode",
            "1 is the target: "
            + ", ".join(f"{mode} {s * 1000:.0f} ms" for mode, s in SEARCH_TARGETS.items())
            + ".",
            "percentunit",
            [
                (f'max({_SECONDS}{{{THIS},mode="{mode}",quantile="0.95"}}) / {seconds}', mode)
                for mode, seconds in SEARCH_TARGETS.items()
            ],
            good=(0.7, 1),
        ),
        lines(
            "From benchmark to benchmark, p50",
            "A step is a new result.",
            "s",
            [(f'max by (mode) ({_SECONDS}{{{THIS},quantile="0.5"}})', "{{mode}}")],
        ),
        lines(
            "From benchmark to benchmark, p95",
            "A step is a new result.",
            "s",
            [(f'max by (mode) ({_SECONDS}{{{THIS},quantile="0.95"}})', "{{mode}}")],
        ),
    ),
)


def _measured(measure: str) -> list[tuple[str, str]]:
    matchers = f'{THIS},measure=~".* {measure}"'
    return [(f"max by (dataset, measure) ({_QUALITY}{{{matchers}}})", "{{dataset}} {{measure}}")]


_GOOD: Final = Section(
    "Quality",
    (
        bars(
            "Last benchmark: nDCG@10",
            "By mode, of 1.",
            "short",
            _measured("nDCG@10"),
            most=1,
            width=8,
        ),
        *(
            lines(
                f"From benchmark to benchmark: {measure}",
                "A fall after a change of model, chunking or fusion wants a look.",
                "short",
                _measured(measure),
                most=1,
                width=8,
            )
            for measure in ("nDCG@10", "R@50")
        ),
    ),
)

BENCHMARKS: Final = Board(
    "benchmarks",
    "Benchmarks",
    "Latency and quality of finished RagBaseBenchmarks.",
    (_LATENCY, _GOOD),
    (
        choice("namespace", "Namespace", _SECONDS),
        choice("ragbase", "RagBase", f'{_SECONDS}{{namespace="$namespace"}}'),
    ),
)
