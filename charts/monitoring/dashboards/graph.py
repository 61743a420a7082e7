"""The entity graph: what searches use of it, how documents come into it, its projection, its model."""

from __future__ import annotations

from typing import Final

from charts.monitoring.board import Board, Section
from charts.monitoring.panels import lines, number
from charts.monitoring.queries import THIS, per_second, quantile, share
from ragbase_operator.builders.rules import LLM_FAULTS, STAGE_TARGETS

__all__ = ["GRAPH"]

_ASKED: Final = "ragbase_llm_requests_total"
_TOKENS: Final = "ragbase_llm_tokens_total"
_DAY: Final = f'sum(increase({_TOKENS}{{{THIS},direction=~"input|output"}}[1d]))'


def _jobs(state: str) -> str:
    """Every pod counts the same table, so the largest is taken."""
    return f'max by (kind) (ragbase_jobs{{{THIS},kind=~"graph|context",state=~"{state}"}})'


_NOW: Final = Section(
    "Now",
    (
        number("Entities", "", "short", f"max(ragbase_index_entities{{{THIS}}})"),
        number(
            "Documents waiting for the graph",
            "Jobs of kind `graph`; the documents are searchable already.",
            "short",
            f'max(ragbase_jobs{{{THIS},kind="graph",state="queued"}})',
        ),
        number(
            "Lag of the projection",
            "Notes of changes that Memgraph has still to follow. An alert fires at 1,000 of half "
            "an hour.",
            "short",
            f"max(ragbase_projection_lag_rows{{{THIS}}})",
            good=(100, 1000),
        ),
        number(
            "Graph arm, p95",
            f"In hybrid searches; the target is {STAGE_TARGETS['graph'] * 1000:.0f} ms.",
            "s",
            quantile(0.95, "ragbase_search_stage_seconds", matchers=f'{THIS},stage="graph"'),
            good=(STAGE_TARGETS["graph"] / 2, STAGE_TARGETS["graph"]),
        ),
        number(
            "Language model fails",
            "Of what it is asked; an alert fires at 20 %.",
            "percentunit",
            share(
                per_second(_ASKED, matchers=f'{THIS},outcome=~"{LLM_FAULTS}"'), per_second(_ASKED)
            ),
            good=(0.05, 0.2),
        ),
        number("Tokens in a day", "Input and output, all purposes.", "short", _DAY),
    ),
)

_SEARCHES: Final = Section(
    "Searches",
    (
        lines(
            "Graph arm of hybrid searches",
            "Linking, neighbourhood and walk. The line is its target.",
            "s",
            [
                (
                    quantile(
                        q / 100, "ragbase_search_stage_seconds", matchers=f'{THIS},stage="graph"'
                    ),
                    f"p{q}",
                )
                for q in (50, 95, 99)
            ],
            limit=STAGE_TARGETS["graph"],
            width=8,
        ),
        lines(
            "Graph searches",
            "`POST /v1/search/graph`, whole.",
            "s",
            [
                (
                    quantile(q / 100, "ragbase_search_seconds", matchers=f'{THIS},mode="graph"'),
                    f"p{q}",
                )
                for q in (50, 95, 99)
            ],
            width=8,
        ),
        lines(
            "Answers without the graph, by reason",
            "A time-out, a store that is away (Postgres then answers for it), a model that did not "
            "link in time.",
            "reqps",
            [
                (
                    per_second("ragbase_degraded_total", "reason", f'{THIS},reason=~"graph.*"'),
                    "{{reason}}",
                )
            ],
            stacked=True,
            width=8,
        ),
    ),
)

_DOCUMENTS: Final = Section(
    "Documents into the graph, and their context lines",
    (
        lines(
            "Jobs that wait",
            "`graph` finds entities, `context` makes lines that were not made in time.",
            "short",
            [(_jobs("queued"), "{{kind}}")],
            width=6,
        ),
        lines(
            "Oldest that waits",
            "An alert fires at an hour. Jobs of the graph wait where no worker extracts.",
            "s",
            [
                (
                    f'max by (kind) (ragbase_job_oldest_seconds{{{THIS},kind=~"graph|context"}})',
                    "{{kind}}",
                )
            ],
            limit=3600,
            width=6,
        ),
        lines(
            "Jobs that were given up",
            "As long as they are kept: `ragbase jobs list` says why, `ragbase jobs retry` tries again.",
            "short",
            [(_jobs("failed"), "{{kind}}")],
            width=6,
        ),
        lines(
            "Context lines by outcome",
            "Chunks a second; `cached` cost nothing.",
            "short",
            [(per_second("ragbase_context_lines_total", "outcome"), "{{outcome}}")],
            stacked=True,
            width=6,
        ),
    ),
)

_PROJECTION: Final = Section(
    "Size and projection",
    (
        lines(
            "Entities",
            "Stored in Postgres, which is canonical.",
            "short",
            [(f"max(ragbase_index_entities{{{THIS}}})", "entities")],
        ),
        lines(
            "Lag of the projection",
            "Notes of changes that Memgraph has still to follow; it rises while documents come in "
            "and must fall again.",
            "short",
            [(f"max(ragbase_projection_lag_rows{{{THIS}}})", "notes")],
            limit=1000,
        ),
    ),
)

_MODEL: Final = Section(
    "Language model",
    (
        lines(
            "Completions by purpose and outcome",
            "`skipped`: left alone after failures; `rate_limited`: it asks for patience.",
            "reqps",
            [(per_second(_ASKED, "purpose, outcome"), "{{purpose}} {{outcome}}")],
            stacked=True,
            width=8,
        ),
        lines(
            "Time of a completion, p95",
            "Retries and queueing at the server included.",
            "s",
            [(quantile(0.95, "ragbase_llm_seconds", "purpose"), "{{purpose}}")],
            width=8,
        ),
        lines(
            "Tokens a second",
            "`cached` is the part of input that the server had ready.",
            "short",
            [(per_second(_TOKENS, "purpose, direction"), "{{purpose}} {{direction}}")],
            width=8,
        ),
    ),
)

GRAPH: Final = Board(
    "graph",
    "Graph and language model",
    "The entity graph: searches, how documents come into it, its projection, the language model.",
    (_NOW, _SEARCHES, _DOCUMENTS, _PROJECTION, _MODEL),
)
