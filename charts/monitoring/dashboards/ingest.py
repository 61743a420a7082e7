"""How documents come in: rates, stages, jobs, and what may hold them up."""

from __future__ import annotations

from typing import Final

from charts.monitoring.board import Board, Section
from charts.monitoring.panels import lines, number
from charts.monitoring.queries import RATE, THIS, mean, per_second, quantile, share

__all__ = ["INGEST"]

_DOCUMENTS: Final = "ragbase_ingest_documents_total"
_STAGE: Final = "ragbase_ingest_stage_seconds"
_EMBEDDING: Final = f'{THIS},component="embedding"'

_DOCS: Final = Section(
    "Documents",
    (
        number("Documents stored", "", "short", f"max(ragbase_index_documents{{{THIS}}})"),
        number("Chunks stored", "", "short", f"max(ragbase_index_chunks{{{THIS}}})"),
        number(
            "Chunks a document",
            "",
            "short",
            f"max(ragbase_index_chunks{{{THIS}}}) / (max(ragbase_index_documents{{{THIS}}}) > 0)",
            decimals=1,
        ),
        number("Documents a second", "", "short", per_second(_DOCUMENTS)),
        number(
            "Failed",
            "For a reason that is ours; an alert fires at 10 %.",
            "percentunit",
            share(
                per_second(_DOCUMENTS, matchers=f'{THIS},outcome="failed"'), per_second(_DOCUMENTS)
            ),
            good=(0.01, 0.1),
        ),
        number(
            "Oldest waiting job",
            "An alert fires at an hour.",
            "s",
            f"max(ragbase_job_oldest_seconds{{{THIS}}})",
            good=(600, 3600),
        ),
        lines(
            "Documents by outcome",
            "`unchanged` cost nothing; `rejected` is the sender's fault, `failed` ours.",
            "short",
            [(per_second(_DOCUMENTS, "outcome"), "{{outcome}}")],
            stacked=True,
        ),
        lines(
            "Requests that write, p95",
            "",
            "s",
            [
                (
                    quantile(
                        0.95,
                        "ragbase_http_request_seconds",
                        "method, route",
                        f'{THIS},method!="GET",route=~"/v1/(documents|collections).*"',
                    ),
                    "{{method}} {{route}}",
                )
            ],
        ),
    ),
)

_STAGES: Final = Section(
    "Stages",
    (
        lines(
            "Stages of a document, p95",
            "Embedding goes in batches: its time is that of a batch.",
            "s",
            [(quantile(0.95, _STAGE, "stage"), "{{stage}}")],
        ),
        lines(
            "Where the time goes",
            "Seconds a second that all pods spend in each stage.",
            "short",
            [(f"sum by (stage) (rate({_STAGE}_sum{{{THIS}}}[{RATE}]))", "{{stage}}")],
            stacked=True,
        ),
    ),
)

_JOBS: Final = Section(
    "Jobs",
    (
        lines(
            "Jobs waiting and running",
            "All kinds. Every pod counts the same table, so the largest is taken.",
            "short",
            [
                (
                    f'sum by (state) (max by (kind, state) (ragbase_jobs{{{THIS},state=~"queued|running"}}))',
                    "{{state}}",
                )
            ],
            width=8,
        ),
        lines(
            "Oldest waiting job by kind",
            "",
            "s",
            [(f"max by (kind) (ragbase_job_oldest_seconds{{{THIS}}})", "{{kind}}")],
            limit=3600,
            width=8,
        ),
        lines(
            "Jobs that failed or were cancelled",
            "As long as they are kept; `ragbase jobs` lists them.",
            "short",
            [
                (
                    f'sum by (state) (max by (kind, state) (ragbase_jobs{{{THIS},state=~"failed|cancelled"}}))',
                    "{{state}}",
                )
            ],
            width=8,
        ),
    ),
)

_HOLDS: Final = Section(
    "What may hold it up",
    (
        lines(
            "Embedding: inputs that wait",
            "For a batch of the embedding server.",
            "short",
            [(f"sum(te_queue_size{{{_EMBEDDING}}})", "waiting")],
            width=6,
        ),
        lines(
            "Embedding: inputs a batch",
            "Mean. Small batches use a device badly.",
            "short",
            [(mean("te_batch_next_size", matchers=_EMBEDDING), "inputs")],
            width=6,
        ),
        lines(
            "Embedding: tokens a second",
            "With padding.",
            "short",
            [(per_second("te_batch_next_tokens_sum", matchers=_EMBEDDING), "tokens")],
            width=6,
        ),
        lines(
            "Postgres: wait for a connection, p95",
            "",
            "s",
            [(quantile(0.95, "ragbase_db_pool_wait_seconds", "component"), "{{component}}")],
            limit=1,
            width=6,
        ),
    ),
)

INGEST: Final = Board(
    "ingest",
    "Ingest",
    "How documents come in: rates, stages, jobs, and what may hold them up.",
    (_DOCS, _STAGES, _JOBS, _HOLDS),
)
