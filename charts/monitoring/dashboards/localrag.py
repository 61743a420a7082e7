"""The second API: its requests, its searches, its pods."""

from __future__ import annotations

from typing import Final

from charts.monitoring.board import Board, Section
from charts.monitoring.panels import lines, number
from charts.monitoring.queries import RATE, THIS, per_second, quantile, share

__all__ = ["LOCALRAG"]

_PODS: Final = f'{THIS},component="localrag"'
_USERS: Final = f'{_PODS},route=~"localrag:/v1/.*"'
_REQUESTS: Final = "ragbase_http_requests_total"
_RETRIEVE: Final = f'{THIS},mode="localrag"'
_STAGE: Final = "ragbase_search_stage_seconds"

_TRAFFIC: Final = Section(
    "Requests",
    (
        number("Requests", "Without probes.", "reqps", per_second(_REQUESTS, matchers=_USERS)),
        number(
            "Answered 5xx",
            "",
            "percentunit",
            share(
                per_second(_REQUESTS, matchers=f'{_USERS},status=~"5.."'),
                per_second(_REQUESTS, matchers=_USERS),
            ),
            good=(0.005, 0.03),
        ),
        number(
            "Retrieve, p95",
            "Reranking included.",
            "s",
            quantile(0.95, "ragbase_search_seconds", matchers=_RETRIEVE),
        ),
        lines(
            "Requests by route and status",
            "404 of a model is a name that is neither a file nor served.",
            "reqps",
            [(per_second(_REQUESTS, "route, status", _USERS), "{{route}} {{status}}")],
            stacked=True,
        ),
        lines(
            "Time of requests by route, p95",
            "The first request for a model waits until it is loaded; contexts take a model's time "
            "for each chunk.",
            "s",
            [
                (
                    quantile(0.95, "ragbase_http_request_seconds", "method, route", _USERS),
                    "{{method}} {{route}}",
                )
            ],
        ),
        lines(
            "Mean time a retrieve spends in each stage",
            "Embedding the query, candidates of both vectors and their scores, reranking.",
            "s",
            [
                (
                    f"sum by (stage) (rate({_STAGE}_sum{{{_RETRIEVE}}}[{RATE}]))"
                    " / on () group_left () "
                    f"(sum(rate(ragbase_search_seconds_count{{{_RETRIEVE}}}[{RATE}])) > 0)",
                    "{{stage}}",
                )
            ],
            stacked=True,
        ),
    ),
)

_PROCESS: Final = Section(
    "Pods",
    (
        lines(
            "Memory",
            "Resident; models in GGUF files are mapped into it.",
            "bytes",
            [(f"process_resident_memory_bytes{{{_PODS}}}", "{{pod}}")],
            width=8,
        ),
        lines(
            "Processor",
            "Seconds a second: 1 is a whole core.",
            "short",
            [
                (
                    f"sum by (pod) (rate(process_cpu_seconds_total{{{_PODS}}}[{RATE}]))",
                    "{{pod}}",
                )
            ],
            width=8,
        ),
        lines(
            "In flight",
            "",
            "short",
            [(f"sum by (pod) (ragbase_http_inflight{{{_PODS}}})", "{{pod}}")],
            width=8,
        ),
    ),
)

LOCALRAG: Final = Board(
    "localrag",
    "Second API",
    "The second API, for local RAG: requests, searches, pods.",
    (_TRAFFIC, _PROCESS),
)
