"""Alerts on the parts of a RagBase: API, workers, database, model servers."""

from __future__ import annotations

from typing import Final

from ragbase_operator.builders.rules.rule import Alert, Group

__all__ = ["LLM_FAULTS", "STACK_ALERTS"]

_BY: Final = "namespace, ragbase"
_PLACE: Final = "{{ $labels.namespace }}/{{ $labels.ragbase }}"
_API: Final = 'up{$scope,component="api"}'

LLM_FAULTS: Final = "timeout|unavailable|rate_limited|unusable|error|skipped"
"""Outcomes of completions that are the server's or the model's fault, not the question's."""

STACK_ALERTS: Final = Group(
    "ragbase",
    (
        Alert(
            "RagBaseApiDown",
            "critical",
            "3m",
            f"sum by ({_BY}) ({_API}) == 0 or count by ({_BY}) ({_API} offset 30m)"
            f" unless count by ({_BY}) ({_API})",
            f"{_PLACE}: no pod of the API answers.",
            "Nobody can search or ingest. Look at the pods of the API and the conditions of the "
            "RagBase.",
        ),
        Alert(
            "RagBaseDatabaseDown",
            "critical",
            "2m",
            f'max by ({_BY}) (ragbase_dependency_up{{$scope,dependency="postgres"}}) == 0',
            f"{_PLACE}: Postgres does not answer.",
            "Every request that needs data is answered 503.",
        ),
        Alert(
            "RagBaseDependencyDown",
            "warning",
            "5m",
            f"min by ({_BY}, dependency)"
            ' (ragbase_dependency_up{$scope,dependency!="postgres"}) == 0',
            f"{_PLACE}: {{{{ $labels.dependency }}}} does not answer.",
            "Searches go on without it, and say so. At least one pod of the API cannot reach "
            "{{ $labels.dependency }}.",
        ),
        Alert(
            "RagBaseTargetDown",
            "warning",
            "10m",
            f"count by ({_BY}, component) (up{{$scope}} == 0)",
            f"{_PLACE}: pods of {{{{ $labels.component }}}} cannot be scraped.",
            "{{ $value }} of its pods do not answer Prometheus: they are down, or a NetworkPolicy "
            "keeps Prometheus out.",
        ),
        Alert(
            "RagBaseShedding",
            "warning",
            "10m",
            f"sum by ({_BY}) (rate(ragbase_http_shed_total{{$scope}}[5m])) > 0",
            f"{_PLACE}: requests are answered 429.",
            "{{ $value | humanize }} requests a second are turned away: more come than replicas "
            "of the API may have in flight.",
        ),
        Alert(
            "RagBaseDegraded",
            "warning",
            "15m",
            f"sum by ({_BY}, reason) (rate(ragbase_degraded_total{{$scope}}[5m]))"
            f" / ignoring (reason) group_left"
            f" sum by ({_BY}) (rate(ragbase_search_seconds_count{{$scope}}[5m])) > 0.05",
            f"{_PLACE}: answers are degraded, {{{{ $labels.reason }}}}.",
            "{{ $value | humanizePercentage }} of the searches go without something that is "
            "configured.",
        ),
        Alert(
            "RagBaseRerankerFailing",
            "warning",
            "10m",
            f"sum by ({_BY}, model) (rate(ragbase_reranker_requests_total"
            '{$scope,outcome=~"timeout|unavailable|error|skipped"}[5m]))'
            f" / sum by ({_BY}, model) (rate(ragbase_reranker_requests_total{{$scope}}[5m])) > 0.1",
            f"{_PLACE}: the reranker {{{{ $labels.model }}}} fails.",
            "{{ $value | humanizePercentage }} of its rankings fail; those searches keep their "
            "fused order, or take another reranker.",
        ),
        Alert(
            "RagBaseJobsWaiting",
            "warning",
            "15m",
            f"max by ({_BY}, kind) (ragbase_job_oldest_seconds{{$scope}}) > 3600",
            f"{_PLACE}: jobs of kind {{{{ $labels.kind }}}} wait.",
            "The oldest has waited for {{ $value | humanizeDuration }}: no worker runs, or there "
            "are too few.",
        ),
        Alert(
            "RagBaseIngestFailing",
            "warning",
            "10m",
            f"sum by ({_BY}) (rate(ragbase_ingest_documents_total"
            '{$scope,outcome="failed"}[15m]))'
            f" / sum by ({_BY}) (rate(ragbase_ingest_documents_total{{$scope}}[15m])) > 0.1",
            f"{_PLACE}: documents cannot be stored.",
            "{{ $value | humanizePercentage }} of the documents of the last 15 minutes failed for "
            "a reason that is ours.",
        ),
        Alert(
            "RagBasePoolExhausted",
            "warning",
            "10m",
            f"histogram_quantile(0.95, sum by ({_BY}, pod, le)"
            " (rate(ragbase_db_pool_wait_seconds_bucket{$scope}[5m]))) > 1",
            f"{_PLACE}: requests wait for a connection to Postgres.",
            "In {{ $labels.pod }} one wait in twenty is longer than {{ $value | humanizeDuration }}"
            ": statements are slow, or the pool is small.",
        ),
        Alert(
            "RagBaseModelServerFailing",
            "warning",
            "10m",
            f"sum by ({_BY}, component) (rate(te_request_failure"
            '{$scope,err=~"inference|unhealthy|overloaded"}[5m]))'
            f" / sum by ({_BY}, component) (rate(te_request_count{{$scope}}[5m])) > 0.05",
            f"{_PLACE}: {{{{ $labels.component }}}} fails requests.",
            "{{ $value | humanizePercentage }} of its requests fail: the model, the device, or "
            "more load than it takes.",
        ),
        Alert(
            "RagBaseModelServerOutOfMemory",
            "info",
            "0m",
            f"sum by ({_BY}, component, model)"
            " (increase(ragbase_inference_oom_splits_total{$scope}[30m])) > 3",
            f"{_PLACE}: {{{{ $labels.component }}}} runs out of memory.",
            "Batches of {{ $labels.model }} found no room {{ $value | humanize }} times in half an "
            "hour and were run in halves, which takes longer.",
        ),
        Alert(
            "RagBaseJobsFailing",
            "warning",
            "0m",
            f'max by ({_BY}, kind) (delta(ragbase_jobs{{$scope,state="failed"}}[1h])) > 5',
            f"{_PLACE}: jobs of kind {{{{ $labels.kind }}}} are given up.",
            "{{ $value | humanize }} in the last hour; each has its reason, and can be tried again.",
        ),
        Alert(
            "RagBaseLlmFailing",
            "warning",
            "15m",
            f"sum by ({_BY}, purpose) (rate(ragbase_llm_requests_total"
            f'{{$scope,outcome=~"{LLM_FAULTS}"}}[15m]))'
            f" / sum by ({_BY}, purpose) (rate(ragbase_llm_requests_total{{$scope}}[15m])) > 0.2",
            f"{_PLACE}: the language model fails, {{{{ $labels.purpose }}}}.",
            "{{ $value | humanizePercentage }} of what it is asked fails; documents are searchable "
            "all the same, without what it should add.",
        ),
        Alert(
            "RagBaseProjectionLagging",
            "warning",
            "5m",
            f"max by ({_BY}) (min_over_time(ragbase_projection_lag_rows{{$scope}}[30m])) > 1000",
            f"{_PLACE}: Memgraph lags behind the graph.",
            "For half an hour never fewer than {{ $value | humanize }} changes have waited for it; "
            "Postgres has them all.",
        ),
    ),
)
