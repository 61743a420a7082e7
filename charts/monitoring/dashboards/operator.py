"""The operator: is it alive, what does it do, what does it see."""

from __future__ import annotations

from typing import Final

from charts.monitoring.board import Board, Section
from charts.monitoring.panels import bars, lines, number
from charts.monitoring.queries import RATE, quantile

__all__ = ["OPERATOR"]

_OBJECTS: Final = "ragbase_operator_objects"
_RAGBASES: Final = f'{_OBJECTS}{{kind="RagBase",condition="Ready"'
_PASSES: Final = "ragbase_operator_reconcile_total"
_APPLIES: Final = "ragbase_operator_apply_total"

_NOW: Final = Section(
    "Now",
    (
        number("RagBases", "", "short", f"sum({_RAGBASES}}})"),
        number(
            "Not Ready",
            "`kubectl get rb -A` shows which.",
            "short",
            f'sum({_RAGBASES},status!="True"}}) or vector(0)',
            good=(1,),
        ),
        number(
            "Change of model held back",
            "ReindexRequired is True.",
            "short",
            f'sum({_OBJECTS}{{kind="RagBase",condition="ReindexRequired",status="True"}}) or vector(0)',
            good=(1,),
        ),
        number(
            "Backups, restores, benchmarks that failed",
            "Of those that still exist.",
            "short",
            f'sum({_OBJECTS}{{condition="Failed",status="True"}}) or vector(0)',
            good=(1,),
        ),
        number(
            "Heartbeat seen through the watch",
            "Seconds ago; at 90 the liveness probe fails.",
            "s",
            "max(ragbase_operator_watch_age_seconds)",
            good=(60, 90),
        ),
        number(
            "Last pass that came to its end",
            "Seconds ago.",
            "s",
            "time() - max(ragbase_operator_last_success_timestamp_seconds)",
            good=(300, 900),
        ),
    ),
)

_SEEN: Final = Section(
    "What it sees",
    (
        lines(
            "RagBases whose condition is not True",
            "ReindexRequired and Paused are left out: True is the rare case there.",
            "short",
            [
                (
                    f'sum by (condition) ({_OBJECTS}{{kind="RagBase",status!="True",'
                    'condition!~"ReindexRequired|Paused"})',
                    "{{condition}}",
                )
            ],
            stacked=True,
            width=8,
        ),
        lines(
            "Backups, restores, benchmarks",
            "By condition that is True.",
            "short",
            [
                (
                    f'sum by (kind, condition) ({_OBJECTS}{{kind!="RagBase",status="True"}})',
                    "{{kind}} {{condition}}",
                )
            ],
            stacked=True,
            width=8,
        ),
        bars(
            "Age of the last backup",
            "An alert fires after eight days.",
            "s",
            [
                (
                    "time() - max by (namespace, ragbase)"
                    " (ragbase_operator_last_backup_timestamp_seconds)",
                    "{{namespace}}/{{ragbase}}",
                )
            ],
            good=(2 * 86400, 8 * 86400),
            width=8,
        ),
    ),
)

_DONE: Final = Section(
    "What it does",
    (
        lines(
            "Passes by result",
            "`waiting`: something is not ready yet; `failed`: a child was refused; `error`: broken off.",
            "short",
            [(f"sum by (kind, result) (rate({_PASSES}[{RATE}]))", "{{kind}} {{result}}")],
            stacked=True,
        ),
        lines(
            "Time of a pass, p95",
            "",
            "s",
            [(quantile(0.95, "ragbase_operator_reconcile_seconds", "kind", ""), "{{kind}}")],
        ),
        lines(
            "Children by what was done",
            "In a steady state all are `skipped`: nothing is written.",
            "short",
            [(f"sum by (outcome) (rate({_APPLIES}[{RATE}]))", "{{outcome}}")],
            stacked=True,
        ),
        lines(
            "Children that were applied, pruned or refused, by kind",
            "",
            "short",
            [
                (
                    f'sum by (kind, outcome) (rate({_APPLIES}{{outcome!~"skipped|held"}}[{RATE}]))',
                    "{{kind}} {{outcome}}",
                )
            ],
        ),
    ),
)

_PROCESS: Final = Section(
    "Process",
    (
        lines(
            "Resident memory",
            "",
            "bytes",
            [
                (
                    "process_resident_memory_bytes and on (instance) ragbase_operator_watch_age_seconds",
                    "{{instance}}",
                )
            ],
        ),
        lines(
            "Processor",
            "Seconds a second: 1 is a whole core.",
            "short",
            [
                (
                    f"rate(process_cpu_seconds_total[{RATE}])"
                    " and on (instance) ragbase_operator_watch_age_seconds",
                    "{{instance}}",
                )
            ],
        ),
    ),
)

OPERATOR: Final = Board(
    "operator",
    "Operator",
    "Whether the operator is alive, what it does and what it sees, over all namespaces.",
    (_NOW, _SEEN, _DONE, _PROCESS),
    (),
)
