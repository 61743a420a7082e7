"""Objects of the Prometheus operator."""

from __future__ import annotations

import re
from typing import Any

from ragbase_operator.builders.build import build
from ragbase_operator.builders.inputs import Inputs

from .conftest import Make
from .found import Found

WISHED = {
    "monitoring": {"serviceMonitor": True, "prometheusRule": True, "labels": {"release": "p"}}
}


def _matches(selector: dict[str, Any], labels: dict[str, str]) -> bool:
    (chosen,) = selector["matchExpressions"]
    return (
        selector["matchLabels"].items() <= labels.items()
        and labels.get(chosen["key"]) in chosen["values"]
    )


def test_everything_with_metrics_is_scraped_once(make: Make, inputs: Inputs, found: Found) -> None:
    """At a named port that it has."""
    children = build(make({**WISHED, "rerankers": [{"name": "bge"}]}), inputs)
    monitors = [c["spec"] for c in children if c["kind"] == "PodMonitor"]
    scraped = {}
    for name, template in found.templates(children):
        for monitor in monitors:
            if _matches(monitor["selector"], template["metadata"]["labels"]):
                (endpoint,) = monitor["podMetricsEndpoints"]
                ports = {p["name"] for p in template["spec"]["containers"][0]["ports"]}
                assert endpoint["port"] in ports
                assert name not in scraped
                scraped[name] = endpoint["path"]
    assert scraped.keys() == {
        "Deployment docs-worker",
        "Deployment docs-embedding",
        "Deployment docs-reranker-bge",
    }
    monitor = found.one(children, "ServiceMonitor", "docs-api")["spec"]
    services = [
        c
        for c in children
        if c["kind"] == "Service" and _matches(monitor["selector"], c["metadata"]["labels"])
    ]
    assert [s["metadata"]["name"] for s in services] == ["docs-api"]
    assert monitor["endpoints"][0]["port"] in {p["name"] for p in services[0]["spec"]["ports"]}


def test_prometheus_finds_them_by_its_labels(make: Make, inputs: Inputs) -> None:
    for child in build(make(WISHED), inputs):
        if "monitoring.coreos.com" in child["apiVersion"]:
            assert child["metadata"]["labels"]["release"] == "p"


def test_every_series_says_of_which_ragbase_and_part_it_is(make: Make, inputs: Inputs) -> None:
    """Rules and dashboards go by these labels."""
    for child in build(make(WISHED), inputs):
        for name in ("endpoints", "podMetricsEndpoints"):
            for endpoint in child.get("spec", {}).get(name, []):
                assert [each["targetLabel"] for each in endpoint["relabelings"]] == [
                    "ragbase",
                    "component",
                ]
                assert endpoint["relabelings"][0]["replacement"] == "docs"


def test_the_rules_are_about_one_ragbase(make: Make, inputs: Inputs, found: Found) -> None:
    """Two RagBases in a cluster never alert for each other."""
    rule = found.one(build(make(WISHED), inputs), "PrometheusRule", "docs-alerts")
    for group in rule["spec"]["groups"]:
        for each in group["rules"]:
            selectors = re.findall(r"\w+\{([^}]*)\}", each["expr"])
            assert selectors, each
            for selector in selectors:
                assert selector.startswith('namespace="search",ragbase="docs"'), each
            assert "$scope" not in each["expr"]
