"""How long searches take, by mode and stage, against their targets."""

from __future__ import annotations

from typing import Final

from charts.monitoring.board import RAGBASE, Board, Section, choice
from charts.monitoring.panels import bars, heat, lines
from charts.monitoring.queries import RATE, THIS, per_second, quantile, share
from ragbase_operator.builders.rules import SEARCH_TARGETS, STAGE_TARGETS, WITHIN_TARGET

__all__ = ["SEARCH"]

_MODE: Final = f'{THIS},mode="$mode"'
_STAGE: Final = "ragbase_search_stage_seconds"


def _against(stage: str, target: float) -> tuple[str, str]:
    matchers = f'{_MODE},stage="{stage}"'
    return f"{quantile(0.95, _STAGE, matchers=matchers)} / {target}", stage


_WHOLE: Final = Section(
    "Whole searches",
    (
        *(
            lines(
                f"{mode.capitalize()}",
                f"Half, 95 and 99 of a hundred {mode} searches are faster. The line is the target, "
                f"{seconds * 1000:.0f} ms, of {WITHIN_TARGET:.0%}.",
                "s",
                [
                    (
                        quantile(
                            q / 100, "ragbase_search_seconds", matchers=f'{THIS},mode="{mode}"'
                        ),
                        f"p{q}",
                    )
                    for q in (50, 95, 99)
                ],
                limit=seconds,
                width=8,
            )
            for mode, seconds in SEARCH_TARGETS.items()
        ),
        lines(
            "Searches by mode",
            "",
            "reqps",
            [(per_second("ragbase_search_seconds_count", "mode"), "{{mode}}")],
            stacked=True,
            width=8,
        ),
        lines(
            "Share within the target",
            "Counted by the buckets of the histogram, without interpolation.",
            "percentunit",
            [
                (
                    share(
                        per_second(
                            "ragbase_search_seconds_bucket",
                            matchers=f'{THIS},mode="{mode}",le="{seconds}"',
                        ),
                        per_second(
                            "ragbase_search_seconds_count", matchers=f'{THIS},mode="{mode}"'
                        ),
                    ),
                    f"{mode}, {seconds * 1000:.0f} ms",
                )
                for mode, seconds in SEARCH_TARGETS.items()
            ],
            limit=WITHIN_TARGET,
            most=1,
            width=8,
        ),
        lines(
            "Degraded answers by reason",
            "Warnings a second of answers that went without something configured.",
            "reqps",
            [(per_second("ragbase_degraded_total", "reason"), "{{reason}}")],
            stacked=True,
            width=8,
        ),
    ),
)

_STAGES: Final = Section(
    "Stages of $mode searches",
    (
        lines(
            "Stages, p95",
            "Arms run at the same time; fusion, then reranking, come after the slower one.",
            "s",
            [(quantile(0.95, _STAGE, "stage", _MODE), "{{stage}}")],
            width=8,
        ),
        lines(
            "Mean time a search spends in each stage",
            "The stages' sum is more than the search where arms run at the same time.",
            "s",
            [
                (
                    f"sum by (stage) (rate({_STAGE}_sum{{{_MODE}}}[{RATE}]))"
                    " / on () group_left () "
                    f"(sum(rate(ragbase_search_seconds_count{{{_MODE}}}[{RATE}])) > 0)",
                    "{{stage}}",
                )
            ],
            stacked=True,
            width=8,
        ),
        bars(
            "p95 of each stage against its target",
            "1 is the target: "
            + ", ".join(f"{stage} {s * 1000:g} ms" for stage, s in STAGE_TARGETS.items())
            + ".",
            "percentunit",
            [_against(stage, seconds) for stage, seconds in STAGE_TARGETS.items()],
            good=(0.7, 1),
            width=8,
        ),
        heat(
            "All $mode searches",
            "How many take how long: a second band is a second population, such as cold caches.",
            "s",
            f"sum by (le) (increase(ragbase_search_seconds_bucket{{{_MODE}}}[{RATE}]))",
        ),
        lines(
            "Rerankings by outcome",
            "`skipped`: left alone after failures; such searches keep their fused order.",
            "reqps",
            [
                (
                    per_second("ragbase_reranker_requests_total", "model, outcome"),
                    "{{model}} {{outcome}}",
                )
            ],
            stacked=True,
        ),
    ),
)

SEARCH: Final = Board(
    "search",
    "Search latency",
    "How long searches take, by mode and stage, against their targets.",
    (_WHOLE, _STAGES),
    (*RAGBASE, choice("mode", "Mode", f"ragbase_search_seconds_count{{{THIS}}}")),
)
