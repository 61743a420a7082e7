"""The edges that NetworkPolicies allow, computed from the policies as a network would."""

from __future__ import annotations

from typing import Any

import pytest

from ragbase_operator.builders.build import build
from ragbase_operator.builders.inputs import Inputs

from .conftest import Make
from .found import Found

STACK = {
    "graph": {"enabled": True, "extraction": "ner", "ner": {"engine": "gliner", "device": "rocm"}},
    "rerankers": [{"name": "bge"}],
    "localrag": {"enabled": True},
    "networkPolicy": {"enabled": True},
}
PARTS = (
    "api",
    "worker",
    "migrate",
    "backup",
    "restore",
    "localrag",
    "benchmark",
    "embedding",
    "reranker-bge",
    "ner",
    "postgres",
    "memgraph",
)


def _labels(component: str) -> dict[str, str]:
    return {
        "app.kubernetes.io/name": "ragbase",
        "app.kubernetes.io/instance": "docs",
        "app.kubernetes.io/component": component,
    }


def _selects(selector: dict[str, Any], labels: dict[str, str]) -> bool:
    wanted = selector.get("matchLabels", {}).items()
    chosen = selector.get("matchExpressions", [])
    assert all(each["operator"] == "In" for each in chosen)
    return wanted <= labels.items() and all(
        labels.get(each["key"]) in each["values"] for each in chosen
    )


def _allowed(
    policies: list[dict[str, Any]], side: str, pod: str, peer: dict[str, str], port: int
) -> bool:
    """Whether the policies of ``pod`` let it talk with a pod labelled ``peer``."""
    policy = next(p for p in policies if _selects(p["spec"]["podSelector"], _labels(pod)))
    word = "from" if side == "ingress" else "to"
    return any(
        port in {each["port"] for each in rule["ports"]}
        and (word not in rule or any(_selects(each["podSelector"], peer) for each in rule[word]))
        for rule in policy["spec"][side]
    )


def _edges(policies: list[dict[str, Any]]) -> set[tuple[str, str, int]]:
    """Edges within the stack that both ends allow."""
    return {
        (source, target, port)
        for source in PARTS
        for target in PARTS
        for port in (5432, 7687, 8000, 8080, 9090, 57352)
        if _allowed(policies, "egress", source, _labels(target), port)
        and _allowed(policies, "ingress", target, _labels(source), port)
    }


def _policies(make: Make, inputs: Inputs, **spec: Any) -> list[dict[str, Any]]:
    return [c for c in build(make({**STACK, **spec}), inputs) if c["kind"] == "NetworkPolicy"]


def test_the_edges_of_the_stack_and_no_other(make: Make, inputs: Inputs) -> None:
    models = ("embedding", "reranker-bge", "ner")
    expected = {(source, "postgres", 5432) for source in PARTS[:6]}
    expected |= {(source, model, 8080) for source in ("api", "worker") for model in models}
    expected |= {("localrag", model, 8080) for model in ("embedding", "reranker-bge")}
    expected |= {(source, "memgraph", 7687) for source in ("api", "worker")}
    expected |= {("benchmark", "api", 8000)}
    assert _edges(_policies(make, inputs)) == expected


def test_every_pod_has_a_policy(children: list[dict[str, Any]], found: Found) -> None:
    """A pod that none selects is open."""
    policies = [c["spec"] for c in children if c["kind"] == "NetworkPolicy"]
    for name, template in found.templates(children):
        chosen = [p for p in policies if _selects(p["podSelector"], template["metadata"]["labels"])]
        assert len(chosen) == (1 if policies else 0), name
        assert all(p["policyTypes"] == ["Ingress", "Egress"] for p in chosen), name


def test_who_may_call_the_api(make: Make, inputs: Inputs) -> None:
    """The operator, for its readiness search, and the peers of `allowFrom`; not every pod."""
    shop = {"podSelector": {"matchLabels": {"app": "shop"}}}
    policies = _policies(make, inputs, networkPolicy={"enabled": True, "allowFrom": [shop]})
    operator = {"app.kubernetes.io/name": "ragbase-operator"}
    for peer, may in (({"app": "shop"}, True), (operator, True), ({"app": "other"}, False)):
        assert _allowed(policies, "ingress", "api", peer, 8000) is may
        assert not _allowed(policies, "ingress", "postgres", peer, 5432)


def test_who_may_call_the_second_api(make: Make, inputs: Inputs) -> None:
    """The peers of `allowFrom`; where there are none, nobody."""
    shop = {"podSelector": {"matchLabels": {"app": "shop"}}}
    for peers in ([], [shop]):
        policies = _policies(make, inputs, networkPolicy={"enabled": True, "allowFrom": peers})
        assert _allowed(policies, "ingress", "localrag", {"app": "shop"}, 57352) is bool(peers)
        assert not _allowed(policies, "ingress", "localrag", {"app": "other"}, 57352)


def test_prometheus_comes_in_where_it_is_wished(make: Make, inputs: Inputs) -> None:
    peer = {"app.kubernetes.io/name": "prometheus"}
    for wished in (True, False):
        policies = _policies(make, inputs, monitoring={"serviceMonitor": wished})
        assert _allowed(policies, "ingress", "api", peer, 9090) is wished
        assert _allowed(policies, "ingress", "worker", peer, 9090) is wished
        assert _allowed(policies, "ingress", "localrag", peer, 9090) is wished
        assert _allowed(policies, "ingress", "embedding", peer, 8080) is wished
        assert not _allowed(policies, "ingress", "postgres", peer, 5432)


@pytest.mark.parametrize(
    ("pod", "ports"),
    [
        ("embedding", {53, 443}),
        ("ner", {53, 443}),
        ("localrag", {53, 443}),
        ("postgres", set()),
        ("memgraph", set()),
        ("api", {53}),
        ("worker", {53}),
    ],
)
def test_the_way_out(make: Make, inputs: Inputs, pod: str, ports: set[int]) -> None:
    """Model servers fetch models; databases reach nothing."""
    policies = _policies(make, inputs)
    outside = {"somewhere": "else"}
    reached = {
        p for p in (53, 80, 443, 5432, 8443) if _allowed(policies, "egress", pod, outside, p)
    }
    assert reached == ports


def test_what_others_run_is_reached_at_its_port(make: Make, inputs: Inputs) -> None:
    spec: dict[str, Any] = {
        "database": {"mode": "external", "external": {"secretRef": {"name": "pg"}}},
        "embeddings": {"engine": "openai", "external": {"url": "http://models.example.com:9999"}},
        "llm": {"baseUrl": "https://llm.example.com/v1", "model": "m"},
    }
    spec["localrag"] = {
        "enabled": True,
        "settings": {"LOCALRAG_OPENAI_BASE_URL": "http://openai.example.com/v1"},
    }
    policies = _policies(make, inputs, **spec)
    outside = {"somewhere": "else"}
    for pod, own in (("api", set()), ("worker", set()), ("localrag", {80})):
        reached = {
            p for p in (53, 80, 443, 5432, 9999) if _allowed(policies, "egress", pod, outside, p)
        }
        assert reached == {53, 443, 5432, 9999} | own, pod
    assert not _allowed(policies, "egress", "benchmark", outside, 5432)


def test_instances_of_a_cluster_reach_each_other(make: Make, inputs: Inputs) -> None:
    """And API, workers and the operator of CloudNativePG reach them."""
    policies = _policies(
        make, inputs, database={"mode": "cnpg", "cnpg": {"instances": 3}}, graph={}
    )
    (cluster,) = (p for p in policies if p["metadata"]["name"] == "docs-postgres")
    own = {"cnpg.io/cluster": "docs-postgres"}
    assert cluster["spec"]["podSelector"]["matchLabels"] == own
    peers = cluster["spec"]["ingress"][0]["from"]
    for labels in (own, _labels("api"), {"app.kubernetes.io/name": "cloudnative-pg"}):
        assert any(_selects(peer["podSelector"], labels) for peer in peers)
    assert _allowed(policies, "egress", "api", own, 5432)


def test_none_where_none_is_wished(make: Make, inputs: Inputs, found: Found) -> None:
    assert not found.names(build(make(), inputs), "NetworkPolicy")
