"""Alerts on the operator, and on what only it sees: conditions, backups."""

from __future__ import annotations

from typing import Final

from ragbase_operator.builders.rules.rule import Alert, Group

__all__ = ["OPERATOR_ALERTS"]

_TASKS: Final = "RagBaseBackup|RagBaseRestore|RagBaseBenchmark"

OPERATOR_ALERTS: Final = Group(
    "ragbase-operator",
    (
        Alert(
            "RagBaseOperatorDown",
            "critical",
            "5m",
            "absent(ragbase_operator_watch_age_seconds)",
            "The operator of RagBase does not run, or cannot be scraped.",
            "What runs goes on; changes, healing and backups by resource wait for it.",
        ),
        Alert(
            "RagBaseOperatorWatchStale",
            "critical",
            "2m",
            "ragbase_operator_watch_age_seconds > 120",
            "The operator of RagBase sees no changes.",
            "Its own heartbeat came last through its watch {{ $value | humanizeDuration }} ago; "
            "its liveness probe should have restarted it.",
        ),
        Alert(
            "RagBaseOperatorReconcileStalled",
            "warning",
            "5m",
            "time() - ragbase_operator_last_success_timestamp_seconds > 900"
            " and on () sum(ragbase_operator_objects) > 0",
            "The operator of RagBase comes to no end of a pass.",
            "The last one was {{ $value | humanizeDuration }} ago; each resource is looked at "
            "every few minutes.",
        ),
        Alert(
            "RagBaseOperatorReconcileFailing",
            "warning",
            "15m",
            'sum by (kind) (rate(ragbase_operator_reconcile_total{result="error"}[10m]))'
            " / sum by (kind) (rate(ragbase_operator_reconcile_total[10m])) > 0.5",
            "Passes over {{ $labels.kind }} fail.",
            "{{ $value | humanizePercentage }} of them break off; the log of the operator says why.",
        ),
        Alert(
            "RagBaseOperatorApplyFailing",
            "warning",
            "15m",
            'sum by (kind) (rate(ragbase_operator_apply_total{outcome="failed"}[10m])) > 0',
            "Objects of kind {{ $labels.kind }} cannot be applied.",
            "The API server refuses them; the conditions of the RagBase have its words.",
        ),
        Alert(
            "RagBaseNotReady",
            "warning",
            "15m",
            'sum(ragbase_operator_objects{kind="RagBase",condition="Ready",status!="True"}) > 0',
            "{{ $value }} RagBases are not Ready.",
            "`kubectl get rb -A` shows which, and their conditions say what to do.",
        ),
        Alert(
            "RagBaseReindexRequired",
            "info",
            "30m",
            'sum(ragbase_operator_objects{kind="RagBase",condition="ReindexRequired",'
            'status="True"}) > 0',
            "{{ $value }} RagBases hold back a change of their embedding model.",
            "The old model goes on serving until documents are ingested again, or it is put back.",
        ),
        Alert(
            "RagBaseTaskFailed",
            "warning",
            "0m",
            f'sum by (kind) (ragbase_operator_objects{{kind=~"{_TASKS}",condition="Failed",'
            'status="True"}) > 0',
            "{{ $value }} of kind {{ $labels.kind }} failed.",
            "Its condition Failed says why; delete it when that is mended.",
        ),
        Alert(
            "RagBaseBackupOverdue",
            "warning",
            "1h",
            "time() - max by (namespace, ragbase)"
            " (ragbase_operator_last_backup_timestamp_seconds) > 8 * 86400",
            "{{ $labels.namespace }}/{{ $labels.ragbase }}: no backup for more than a week.",
            "The last one ended {{ $value | humanizeDuration }} ago.",
        ),
    ),
)
