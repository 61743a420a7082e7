"""The generated files, and what Grafana needs of a dashboard."""

from __future__ import annotations

import json
from typing import Any

import pytest

from charts.monitoring.dashboards import BOARDS
from charts.monitoring.expressions import panel_queries
from charts.monitoring.files import stale

RENDERED = {board.uid: board.render() for board in BOARDS}
NAMES = sorted(RENDERED)
UIDS = {
    "ragbase-overview",
    "ragbase-search",
    "ragbase-graph",
    "ragbase-ingest",
    "ragbase-models",
    "ragbase-localrag",
    "ragbase-operator",
    "ragbase-benchmarks",
}
"""Links and bookmarks hold these: a change breaks them."""


def _panels(name: str) -> list[dict[str, Any]]:
    panels: list[dict[str, Any]] = json.loads(RENDERED[name])["panels"]
    return panels


def _graphs(name: str) -> list[dict[str, Any]]:
    return [panel for panel in _panels(name) if panel["type"] != "row"]


def test_no_file_is_stale() -> None:
    """`make monitoring` writes them again."""
    assert stale() == []


def test_the_uids_stay() -> None:
    assert set(RENDERED) == UIDS


@pytest.mark.parametrize("name", NAMES)
def test_the_data_source_is_chosen_by_the_user(name: str) -> None:
    """None is built in, so a dashboard works wherever it is imported."""
    board = json.loads(RENDERED[name])
    first, *others = board["templating"]["list"]
    assert (first["name"], first["type"], first["query"]) == (
        "datasource",
        "datasource",
        "prometheus",
    )
    for variable in others:
        assert variable["datasource"]["uid"] == "${datasource}"
    for panel in _graphs(name):
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        for target in panel["targets"]:
            assert target["datasource"]["uid"] == "${datasource}"


@pytest.mark.parametrize("name", NAMES)
def test_variables_that_are_used_exist(name: str) -> None:
    board = json.loads(RENDERED[name])
    known = {variable["name"] for variable in board["templating"]["list"]}
    for text in [
        *(e for _, e in panel_queries(RENDERED[name])),
        *(p["title"] for p in _panels(name)),
    ]:
        used = {part.split('"')[0].split()[0] for part in text.split("$")[1:]}
        assert {each.rstrip("])},") for each in used} <= known | {"__rate_interval"}, text


@pytest.mark.parametrize("name", NAMES)
def test_every_graph_has_title_unit_and_queries(name: str) -> None:
    for panel in _graphs(name):
        assert panel["title"]
        assert panel["targets"], panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]
        legends = [target.get("legendFormat", "") for target in panel["targets"]]
        assert len(legends) == 1 or len(set(legends)) > 1 or "gpu" in legends[0], panel["title"]


@pytest.mark.parametrize("name", NAMES)
def test_panels_lie_side_by_side_and_have_numbers(name: str) -> None:
    panels = _panels(name)
    assert [panel["id"] for panel in panels] == list(range(1, len(panels) + 1))
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        x = place.get("x", 0)
        assert x + place["w"] <= 24, panel["title"]
        cells = {
            (column, line)
            for column in range(x, x + place["w"])
            for line in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        taken |= cells


@pytest.mark.parametrize("name", NAMES)
def test_times_are_in_seconds(name: str) -> None:
    """Of a metric whose name ends in its unit, the panel shows that unit."""
    for panel in _graphs(name):
        unit = panel["fieldConfig"]["defaults"]["unit"]
        for target in panel["targets"]:
            if "histogram_quantile" in target["expr"] and "/ 0." not in target["expr"]:
                assert unit == "s", panel["title"]
            if target["expr"].startswith(("ragbase_", "process_")) and "_bytes" in target["expr"]:
                assert unit == "bytes", panel["title"]


def test_they_fit_into_config_maps() -> None:
    """One takes 1 MiB; a client-side apply of one a quarter of it."""
    for text in RENDERED.values():
        assert len(text.encode()) < 256 * 1024
