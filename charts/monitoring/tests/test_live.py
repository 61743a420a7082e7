"""A real Prometheus scrapes all parts and evaluates every expression."""

from __future__ import annotations

import pytest

from charts.monitoring.dashboards import BOARDS
from charts.monitoring.expressions import filled, panel_queries
from charts.monitoring.live.observed import Observed

QUERIES = [
    (f"{board.uid}: {title}", text)
    for board in BOARDS
    for title, text in panel_queries(board.render())
]
EMPTY = {
    "ragbase-models: Use",
    "ragbase-models: Memory in use",
    "ragbase-graph: Answers without the graph, by reason",
}
"""Panels of exporters that do not run here, and of failures that do not happen here."""


def test_all_parts_are_scraped(seen: Observed) -> None:
    targets = seen.prometheus.targets()
    assert [each["health"] for each in targets] == ["up"] * 5, targets


def test_the_load_was_one(seen: Observed) -> None:
    """Answers, mistakes of callers, and a reranker that nobody runs."""
    assert {200, 201, 202, 404, 422, 503} <= set(seen.statuses)


@pytest.mark.parametrize(("where", "text"), QUERIES, ids=[each for each, _ in QUERIES])
def test_a_panel_has_data(where: str, text: str, seen: Observed) -> None:
    found = seen.prometheus.span(filled(text, seen.variables), seen.start, seen.end, 1)
    if where in EMPTY:
        return
    assert found, text
    for series in found:
        assert series.points


def test_every_rule_is_evaluated(seen: Observed) -> None:
    rules = seen.prometheus.rules()
    assert len(rules) > 30
    for rule in rules:
        assert rule["health"] == "ok", (rule["name"], rule.get("lastError"))


def test_recorded_series_have_data(seen: Observed) -> None:
    for rule in seen.prometheus.rules():
        if rule["type"] == "recording":
            assert seen.prometheus.instant(rule["name"]), rule["name"]


def test_what_is_broken_here_alerts_and_nothing_else(seen: Observed) -> None:
    """A reranker is absent, a RagBase waits, a backup failed: that is what the rules see."""
    active = {
        rule["name"]
        for rule in seen.prometheus.rules()
        if rule.get("state") in {"pending", "firing"}
    }
    expected = {
        "RagBaseDependencyDown",
        "RagBaseDegraded",
        "RagBaseRerankerFailing",
        "RagBaseNotReady",
        "RagBaseTaskFailed",
        "RagBaseErrorBudgetBurnFast",
        "RagBaseErrorBudgetBurnSlow",
    }
    assert expected <= active
    assert active - expected <= {"RagBaseSearchSlow"}  # where the machine is slow


def test_variables_of_dashboards_find_their_values(seen: Observed) -> None:
    for name, metric in (
        ("namespace", "ragbase_build_info"),
        ("ragbase", "ragbase_build_info"),
        ("mode", "ragbase_search_seconds_count"),
        ("namespace", "ragbase_benchmark_seconds"),
        ("ragbase", "ragbase_benchmark_seconds"),
    ):
        found = {series.labels[name] for series in seen.prometheus.instant(metric)}
        assert seen.variables[name] in found
