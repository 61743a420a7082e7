"""Is it well? Objectives, traffic, parts."""

from __future__ import annotations

from typing import Final

from charts.monitoring.board import Board, Section
from charts.monitoring.panels import bars, lines, number
from charts.monitoring.queries import THIS, per_second, quantile, share
from ragbase_operator.builders.rules import ANSWERED, SEARCH_TARGETS, WITHIN_TARGET

__all__ = ["OVERVIEW"]

_USERS: Final = f'{THIS},route!~"(localrag:)?/(health.*|metrics)"'
_REQUESTS: Final = per_second("ragbase_http_requests_total", matchers=_USERS)
_FAILED: Final = per_second("ragbase_http_requests_total", matchers=f'{_USERS},status=~"5.."')
_SEARCHES: Final = per_second("ragbase_search_seconds_count")

_NOW: Final = Section(
    "Now",
    (
        number("Requests", "Without probes and scrapes.", "reqps", _REQUESTS, width=3),
        number(
            "Answered 5xx",
            f"The objective is at most {1 - ANSWERED:.1%} over a month.",
            "percentunit",
            share(_FAILED, _REQUESTS),
            good=(1 - ANSWERED, 0.03),
            width=3,
        ),
        number(
            "Hybrid search, p95",
            f"The target is {SEARCH_TARGETS['hybrid'] * 1000:.0f} ms.",
            "s",
            quantile(0.95, "ragbase_search_seconds", matchers=f'{THIS},mode="hybrid"'),
            good=(SEARCH_TARGETS["hybrid"] / 2, SEARCH_TARGETS["hybrid"]),
            width=3,
        ),
        number(
            "Degraded",
            "Warnings of degraded answers for each search.",
            "percentunit",
            share(per_second("ragbase_degraded_total"), _SEARCHES),
            good=(0.01, 0.05),
            width=3,
        ),
        number("Documents", "", "short", f"max(ragbase_index_documents{{{THIS}}})", width=3),
        number("Chunks", "", "short", f"max(ragbase_index_chunks{{{THIS}}})", width=3),
        number(
            "Jobs waiting",
            "",
            "short",
            f'max(sum by (pod) (ragbase_jobs{{{THIS},state="queued"}}))',
            width=3,
        ),
        number(
            "Oldest waiting job",
            "An alert fires at an hour.",
            "s",
            f"max(ragbase_job_oldest_seconds{{{THIS}}})",
            good=(600, 3600),
            width=3,
        ),
    ),
)

_OBJECTIVES: Final = Section(
    "Objectives (need the recording rules: monitoring.prometheusRule)",
    (
        lines(
            "Share of requests answered 5xx",
            f"At most {1 - ANSWERED:.1%} over a month. Alerts: 14.4 times as much over an hour and "
            "five minutes, six times as much over six hours and half an hour.",
            "percentunit",
            [
                (f"ragbase:http_errors:ratio_rate{window}{{{THIS}}}", window)
                for window in ("5m", "30m", "1h", "6h")
            ],
            limit=1 - ANSWERED,
        ),
        lines(
            "Share of searches within the target of their mode",
            f"At least {WITHIN_TARGET:.0%}. Targets: "
            + ", ".join(f"{mode} {s * 1000:.0f} ms" for mode, s in SEARCH_TARGETS.items())
            + ".",
            "percentunit",
            [(f"ragbase:search_within_target:ratio_rate5m{{{THIS}}}", "{{mode}}")],
            limit=WITHIN_TARGET,
            most=1,
        ),
    ),
)

_TRAFFIC: Final = Section(
    "Traffic",
    (
        lines(
            "Requests by status",
            "429 is load that is turned away, 5xx is ours.",
            "reqps",
            [(per_second("ragbase_http_requests_total", "status", _USERS), "{{status}}")],
            stacked=True,
            width=8,
        ),
        lines(
            "Time of requests by route, p95",
            "From the request to the last byte.",
            "s",
            [
                (
                    quantile(0.95, "ragbase_http_request_seconds", "method, route", _USERS),
                    "{{method}} {{route}}",
                )
            ],
            width=8,
        ),
        lines(
            "In flight, and turned away",
            "Requests in work by pod; requests a second that were answered 429.",
            "short",
            [
                (
                    f'sum by (pod) (ragbase_http_inflight{{{THIS},component!="worker"}})',
                    "in flight, {{pod}}",
                ),
                (per_second("ragbase_http_shed_total"), "429 a second"),
            ],
            width=8,
        ),
    ),
)

_PARTS: Final = Section(
    "Parts",
    (
        bars(
            "Dependencies",
            "Up: the last probe succeeded from all pods.",
            "short",
            [(f"min by (dependency) (ragbase_dependency_up{{{THIS}}})", "{{dependency}}")],
            good=(1,),
            low_is_bad=True,
            most=1,
            words={"0": "down", "1": "up"},
            width=6,
        ),
        lines(
            "Pods that answer a scrape",
            "By component.",
            "short",
            [(f"sum by (component) (up{{{THIS}}})", "{{component}}")],
            width=6,
        ),
        lines(
            "Memory by pod",
            "Resident memory of our processes. TEI and the databases do not tell theirs.",
            "bytes",
            [(f"process_resident_memory_bytes{{{THIS}}}", "{{pod}}")],
            width=6,
        ),
        lines(
            "Processor by pod",
            "Seconds a second: 1 is a whole core.",
            "short",
            [
                (
                    f"sum by (pod) (rate(process_cpu_seconds_total{{{THIS}}}[$__rate_interval]))",
                    "{{pod}}",
                )
            ],
            width=6,
        ),
        lines(
            "Connections to Postgres",
            "In use, by pod; RAGBASE_POOL_MAX bounds them.",
            "short",
            [(f"sum by (pod) (ragbase_db_pool_in_use{{{THIS}}})", "{{pod}}")],
        ),
        lines(
            "Wait for a connection, p95",
            "An alert fires at a second.",
            "s",
            [(quantile(0.95, "ragbase_db_pool_wait_seconds", "pod"), "{{pod}}")],
            limit=1,
        ),
    ),
)

OVERVIEW: Final = Board(
    "overview",
    "Overview",
    "Whether a RagBase is well: objectives, traffic, parts.",
    (_NOW, _OBJECTIVES, _TRAFFIC, _PARTS),
)
