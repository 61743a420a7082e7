"""API and workers: replicas, budgets, placement, the way in."""

from __future__ import annotations

from typing import Any

import pytest

from ragbase_operator.builders.build import build
from ragbase_operator.builders.inputs import Inputs

from .conftest import Make
from .found import Found


def test_an_autoscaler_owns_the_replicas(make: Make, inputs: Inputs, found: Found) -> None:
    """We leave out the field, so that each apply leaves it alone."""
    spec = {"api": {"replicas": 3, "autoscaling": {"enabled": True, "maxReplicas": 5}}}
    children = build(make(spec), inputs)
    api = found.one(children, "Deployment", "docs-api")
    assert "replicas" not in api["spec"]
    scaler = found.one(children, "HorizontalPodAutoscaler", "docs-api")["spec"]
    assert scaler["scaleTargetRef"]["name"] == api["metadata"]["name"]
    assert (scaler["minReplicas"], scaler["maxReplicas"]) == (2, 5)
    plain = build(make({"api": {"replicas": 3}}), inputs)
    assert found.one(plain, "Deployment", "docs-api")["spec"]["replicas"] == 3
    assert not found.names(plain, "HorizontalPodAutoscaler")


@pytest.mark.parametrize(
    ("api", "budget"),
    [
        ({"replicas": 1}, False),
        ({"replicas": 2}, True),
        ({"autoscaling": {"enabled": True}}, True),
        ({"autoscaling": {"enabled": True, "minReplicas": 1}}, False),
    ],
)
def test_a_budget_where_there_is_more_than_one(
    make: Make, inputs: Inputs, found: Found, api: dict[str, Any], budget: bool
) -> None:
    """One of one would let no node be drained."""
    children = build(make({"api": api}), inputs)
    assert bool(found.names(children, "PodDisruptionBudget")) is budget


def test_probes(make: Make, inputs: Inputs, found: Found) -> None:
    """Liveness asks no dependency; a worker is not asked for readiness."""
    children = build(make(), inputs)
    api = found.container(found.one(children, "Deployment", "docs-api"))
    assert api["livenessProbe"]["httpGet"] == {"path": "/health/live", "port": "http"}
    assert api["startupProbe"]["httpGet"] == api["livenessProbe"]["httpGet"]
    assert api["readinessProbe"]["httpGet"]["path"] == "/health/ready"
    worker = found.container(found.one(children, "Deployment", "docs-worker"))
    assert worker["livenessProbe"]["httpGet"] == {"path": "/health/live", "port": "metrics"}
    assert "readinessProbe" not in worker


def test_pods_are_changed_as_the_spec_says(make: Make, inputs: Inputs, found: Found) -> None:
    """Everything of `pod` arrives; our selector's labels cannot be overwritten."""
    pod = {
        "labels": {"team": "search", "app.kubernetes.io/component": "mine"},
        "annotations": {"note": "yes"},
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"operator": "Exists"}],
        "affinity": {"podAntiAffinity": {}},
        "topologySpreadConstraints": [],
        "priorityClassName": "high",
        "runtimeClassName": "gvisor",
        "terminationGracePeriodSeconds": 5,
        "env": [{"name": "A", "value": "b"}],
        "envFrom": [{"secretRef": {"name": "more"}}],
        "supplementalGroups": [7],
    }
    worker = found.one(build(make({"workers": {"pod": pod}}), inputs), "Deployment", "docs-worker")
    template = worker["spec"]["template"]
    spec = template["spec"]
    assert template["metadata"]["labels"]["team"] == "search"
    assert template["metadata"]["labels"]["app.kubernetes.io/component"] == "worker"
    assert template["metadata"]["annotations"]["note"] == "yes"
    assert spec["nodeSelector"] == {"disk": "ssd"}
    assert spec["tolerations"] == [{"operator": "Exists"}]
    assert spec["affinity"] == {"podAntiAffinity": {}}
    assert "topologySpreadConstraints" not in spec
    assert (spec["priorityClassName"], spec["runtimeClassName"]) == ("high", "gvisor")
    assert spec["terminationGracePeriodSeconds"] == 5
    assert spec["securityContext"]["supplementalGroups"] == [7]
    assert found.env(worker)["A"] == "b"
    assert found.container(worker)["envFrom"][-1] == {"secretRef": {"name": "more"}}


def test_an_ingress_leads_to_the_api(make: Make, inputs: Inputs, found: Found) -> None:
    ingress = {"enabled": True, "host": "docs.example.com", "annotations": {"a": "b"}}
    (made,) = (
        child
        for child in build(make({"api": {"ingress": ingress}}), inputs)
        if child["kind"] == "Ingress"
    )
    assert made["metadata"]["annotations"] == {"a": "b"}
    (rule,) = made["spec"]["rules"]
    (path,) = rule["http"]["paths"]
    assert path["backend"]["service"] == {"name": "docs-api", "port": {"number": 8000}}
    assert made["spec"].keys() == {"rules"}
