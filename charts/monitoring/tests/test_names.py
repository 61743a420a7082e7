"""Metrics, labels and values that dashboards and rules ask for are those that the parts have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import get_args

import pytest

from charts.monitoring.dashboards import BOARDS
from charts.monitoring.expressions import asked_labels, panel_queries, selectors
from charts.monitoring.live.observed import Observed
from ragbase.models.jobs import JobKind, JobState
from ragbase.services.search import Mode
from ragbase_inference.server.errors import Reason
from ragbase_operator.builders.rules import EVERYWHERE, operator_groups, stack_groups
from ragbase_operator.models import kinds
from ragbase_operator.status.reasons import Type

RULES = [
    rule for group in (*stack_groups(EVERYWHERE), *operator_groups()) for rule in group["rules"]
]
EXPRESSIONS = [
    *(
        (f"{board.uid}: {title}", text)
        for board in BOARDS
        for title, text in panel_queries(board.render())
    ),
    *((rule.get("alert") or rule["record"], rule["expr"]) for rule in RULES),
]
RECORDED = {rule["record"] for rule in RULES if "record" in rule}
FOREIGN = {
    # ROCm/device-metrics-exporter, docs/configuration/metricslist.md: names in lower case.
    "gpu_gfx_activity": {"hostname", "gpu_id"},
    "gpu_used_vram": {"hostname", "gpu_id"},
    # NVIDIA/dcgm-exporter, etc/default-counters.csv.
    "DCGM_FI_DEV_GPU_UTIL": {"Hostname", "gpu"},
    "DCGM_FI_DEV_FB_USED": {"Hostname", "gpu"},
}
"""Of exporters that are not ours: known from their sources, not run here."""

VALUES = {
    "mode": {*get_args(Mode), "graph", "localrag"},
    "stage": {"embed", "lexical", "semantic", "graph", "fuse", "rerank"},
    "state": set(get_args(JobState)),
    "err": {*get_args(Reason), "dropped"},
    "condition": {*(str(each) for each in Type), "Complete", "Failed"},
    "kind": {
        *get_args(JobKind),
        *(each.name for each in (kinds.RAGBASE, kinds.BACKUP, kinds.RESTORE, kinds.BENCHMARK)),
    },
    "component": {"api", "worker", "localrag", "embedding"},
    "quantile": {"0.5", "0.95", "0.99"},
    "dependency": {"postgres"},
    "direction": {"input", "output", "cached"},
    "result": {"error", "failed", "ready", "waiting", "ended", "invalid"},
    "method": {"GET"},
}
"""What a label may say, by the code that sets it."""

OUTCOMES = {
    "ragbase_reranker_requests_total": {
        "ok", "timeout", "unavailable", "error", "refused", "skipped", "cancelled",
    },
    "ragbase_ingest_documents_total": {
        "created", "replaced", "unchanged", "deduplicated", "rejected", "failed",
    },
    "ragbase_llm_requests_total": {
        "ok", "timeout", "unavailable", "rate_limited", "unusable", "refused", "too_long",
        "skipped", "cancelled", "error",
    },
    "ragbase_operator_apply_total": {"applied", "skipped", "held", "pruned", "failed"},
}  # fmt: skip


@pytest.fixture(scope="session")
def scraped(seen: Observed) -> dict[str, set[str]]:
    """Labels of each metric, as Prometheus has them of all parts now."""
    labels: dict[str, set[str]] = defaultdict(set)
    for series in seen.prometheus.instant('{__name__=~".+"}'):
        labels[series.labels["__name__"]] |= series.labels.keys()
    return labels


@pytest.mark.parametrize(("where", "text"), EXPRESSIONS, ids=[each for each, _ in EXPRESSIONS])
def test_metrics_and_labels_exist(where: str, text: str, scraped: dict[str, set[str]]) -> None:
    """A misspelt one would draw nothing, and never alert."""
    assert selectors(text), text
    for selector in selectors(text):
        if selector.metric not in RECORDED:
            assert selector.metric in scraped or selector.metric in FOREIGN, selector.metric
    for metric, label in asked_labels(text):
        if metric not in RECORDED:
            assert label in scraped.get(metric, FOREIGN.get(metric, set())), (metric, label)


@pytest.mark.parametrize(("where", "text"), EXPRESSIONS, ids=[each for each, _ in EXPRESSIONS])
def test_values_of_labels_are_ones_that_occur(where: str, text: str) -> None:
    for selector in selectors(text):
        for matcher in selector.matchers:
            if matcher.label == "outcome":
                assert set(matcher.values) <= OUTCOMES[selector.metric]
            elif matcher.label in VALUES and not matcher.value.startswith("$"):
                assert set(matcher.values) <= VALUES[matcher.label], matcher


def test_targets_of_searches_are_buckets(scraped: dict[str, set[str]], seen: Observed) -> None:
    """Else the share within the target would be of nothing."""
    bounds = {
        series.labels["le"] for series in seen.prometheus.instant("ragbase_search_seconds_bucket")
    }
    asked = {
        matcher.value
        for _, text in EXPRESSIONS
        for selector in selectors(text)
        for matcher in selector.matchers
        if matcher.label == "le"
    }
    assert asked
    assert asked <= bounds


def test_names_have_their_units(scraped: dict[str, set[str]]) -> None:
    """Times in seconds, sizes in bytes, counters in _total; TEI's names are as they are."""
    for name in _ours(scraped):
        assert not name.endswith(("_ms", "_milliseconds", "_minutes", "_mb", "_kb", "_percent")), (
            name
        )


def test_labels_are_few_and_bounded(seen: Observed) -> None:
    """No document, job, user or text is a label, and one RagBase makes few series (B099)."""
    forbidden = {
        "id",
        "document",
        "document_id",
        "job_id",
        "query",
        "key",
        "user",
        "collection",
        "uid",
    }
    total = 0
    for series in seen.prometheus.instant('{__name__=~"ragbase_.+"}'):
        assert not forbidden & series.labels.keys(), series.labels
        total += 1
    assert 500 < total < 3000, total


def _ours(scraped: dict[str, set[str]]) -> Iterator[str]:
    return (name for name in scraped if name.startswith("ragbase_"))
