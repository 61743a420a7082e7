"""Reading of selectors and of the labels that aggregations keep."""

from __future__ import annotations

from charts.monitoring.expressions import Matcher, asked_labels, filled, selectors


def test_selectors_are_found_with_and_without_matchers() -> None:
    text = 'sum by (up) (rate(te_queue_size{a="b",c=~"d|e"}[5m])) > 1 and on (pod) up'
    (first, second) = selectors(text)
    assert (first.metric, second.metric, second.matchers) == ("te_queue_size", "up", ())
    assert first.matchers == (Matcher("a", "=", "b"), Matcher("c", "=~", "d|e"))
    assert first.matchers[1].values == ["d", "e"]


def test_a_recorded_series_is_one_name() -> None:
    (found,) = selectors("ragbase:http_errors:ratio_rate5m > 0.1")
    assert found.metric == "ragbase:http_errors:ratio_rate5m"


def test_an_aggregation_asks_for_its_labels_of_what_is_inside() -> None:
    text = 'sum by (x, y) (rate(te_a{z="1"}[5m])) / sum(rate(te_b[5m]))'
    assert set(asked_labels(text)) == {("te_a", "x"), ("te_a", "y"), ("te_a", "z")}


def test_a_pattern_names_no_values() -> None:
    assert Matcher("status", "=~", "5..").values == []


def test_variables_are_filled_in() -> None:
    assert filled("rate(up[$__rate_interval])", {"__rate_interval": "1m"}) == "rate(up[1m])"
