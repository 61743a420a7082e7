"""All edges that the policies of the chart and of a RagBase's children allow: these, and no other.

What is allowed is computed from the policies. Enforcement is the network plugin's, and has not run
here: a control plane has no network.
"""

from __future__ import annotations

from typing import Any

import pytest

from e2e.helm import Helm
from ragbase_operator.builders.build import build
from ragbase_operator.builders.images import default_images
from ragbase_operator.builders.inputs import Inputs
from ragbase_operator.builders.kinds import FRESH
from ragbase_operator.models.objects import RagBase
from ragbase_operator.models.ragbase import RagBaseSpec

from .network import Edge, Pod, edges
from .objects import CHARTS, in_namespace, pods_of

SYSTEM, STACK, APPS, MONITORING = "system", "retrieval", "apps", "monitoring"
PORTS = (53, 80, 443, 5432, 6443, 7687, 8000, 8080, 9090, 57352)
SPEC = {
    "graph": {"enabled": True, "extraction": "ner", "ner": {"engine": "gliner", "device": "rocm"}},
    "localrag": {"enabled": True},
    "rerankers": [{"name": "bge"}],
    "monitoring": {"serviceMonitor": True},
    "networkPolicy": {
        "enabled": True,
        "allowFrom": [
            {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": APPS}}}
        ],
    },
    "backup": {"schedule": "0 2 * * *", "claimName": "backups"},
}
MODELS = ("embedding", "reranker-bge", "ner")
SERVING = ("api", "worker", "localrag")
JOBS = ("migrate", "backup", "restore", "benchmark")
ANYWHERE = ("api-server", "internet")
OTHERS = [
    Pod("prometheus", MONITORING, (("app.kubernetes.io/name", "prometheus"),)),
    Pod("dns", "kube-system", (("k8s-app", "kube-dns"),)),
    Pod("app", APPS, (("app", "shop"),)),
    Pod("stranger", "elsewhere", (("app.kubernetes.io/component", "api"),)),
    Pod("neighbour", STACK, (("app", "neighbour"),)),
    Pod("impostor", "elsewhere", (("app.kubernetes.io/name", "ragbase-operator-hook"),)),
    Pod("api-server", address="10.96.0.1"),
    Pod("internet", address="203.0.113.7"),
]
WE = (
    "operator",
    "uninstall",
    "test",
    "api",
    "worker",
    "localrag",
    "postgres",
    "memgraph",
    *MODELS,
    *JOBS,
)

NEEDED = {
    # The chart: the operator, and the pods of the hooks.
    *(Edge(each, "operator", 9090) for each in ("prometheus", "test")),
    Edge("operator", "api", 8000),
    # A stack.
    *(Edge(each, "api", 8000) for each in ("app", "benchmark")),
    Edge("app", "localrag", 57352),
    *(Edge(each, "postgres", 5432) for each in (*SERVING, "migrate", "backup", "restore")),
    *(Edge("localrag", server, 8080) for server in MODELS if server != "ner"),
    *(Edge(each, server, 8080) for each in ("api", "worker") for server in MODELS),
    *(Edge(each, "memgraph", 7687) for each in ("api", "worker")),
    *(Edge("prometheus", each, 9090) for each in SERVING),
    *(Edge("prometheus", each, 8080) for each in MODELS),
}
"""Between those that have a name; what goes out by a port alone is listed below."""
OUT = {
    *((each, port) for each in ("operator", "uninstall") for port in (443, 6443)),
    *((each, 443) for each in (*MODELS, "localrag")),
}
"""A port that is open to wherever it is: the API server, and hubs of models."""
NO_NAMES = {"postgres", "memgraph"}
"""These look no name up."""


@pytest.fixture(scope="module")
def chart(helm: Helm) -> list[dict[str, Any]]:
    objects = helm.template("docs", CHARTS / "ragbase-operator", f"--namespace={SYSTEM}")
    return [in_namespace(each, SYSTEM) for each in objects]


@pytest.fixture(scope="module")
def children() -> list[dict[str, Any]]:
    ragbase = RagBase("docs", STACK, "uid", 1, RagBaseSpec.model_validate(SPEC))
    images = default_images("registry.example.com", "1.2.3")
    fresh = dict.fromkeys(FRESH, "0" * 64)
    return build(ragbase, Inputs(version="1.2.3", images=images, fresh=fresh))


def _policies(*objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [each for some in objects for each in some if each["kind"] == "NetworkPolicy"]


def _hooks_and_operator(chart: list[dict[str, Any]]) -> list[Pod]:
    names = {"Deployment": "operator", "Job": "uninstall", "Pod": "test"}
    return [
        Pod(names[name.split()[0]], SYSTEM, tuple(pod["metadata"]["labels"].items()))
        for name, pod in pods_of(chart)
    ]


def _stack(children: list[dict[str, Any]]) -> list[Pod]:
    """A pod of each component, with the labels that its workload gives it, or a task's Job."""
    found = {}
    for _, pod in pods_of(children):
        labels = pod["metadata"]["labels"]
        component = labels["app.kubernetes.io/component"]
        found[component] = Pod(component, STACK, tuple(labels.items()))
    known = dict(found["api"].labels)
    for task in JOBS:
        labels = {**known, "app.kubernetes.io/component": task}
        found.setdefault(task, Pod(task, STACK, tuple(labels.items())))
    return list(found.values())


def test_what_is_needed_is_allowed_and_nothing_else(
    chart: list[dict[str, Any]], children: list[dict[str, Any]]
) -> None:
    ours = [*_hooks_and_operator(chart), *_stack(children)]
    assert {pod.name for pod in ours} == set(WE)
    found = edges(_policies(chart, children), [*ours, *OTHERS], PORTS)
    everyone = {pod.name for pod in (*ours, *OTHERS)}
    # Those who are none of ours have no policy here, and what they do with each other is theirs.
    found = {each for each in found if {each.source, each.target} & set(WE)}
    open_out = {(each.source, each.port) for each in found if each.target == "internet"}
    names = {(name, 53) for name in WE if name not in NO_NAMES}
    assert open_out == OUT | names
    expected = {Edge(s, t, p) for s, p in open_out for t in everyone - set(WE)}
    assert found == NEEDED | expected


def test_an_edge_that_is_forgotten_is_noticed(
    chart: list[dict[str, Any]], children: list[dict[str, Any]]
) -> None:
    """Without any policy everything is open: so the policies did the work above."""
    ours = [*_hooks_and_operator(chart), *_stack(children)]
    found = edges([], [*ours, *OTHERS], PORTS)
    assert found > NEEDED
    assert Edge("stranger", "postgres", 5432) in found


def test_the_api_servers_address_closes_the_rest(helm: Helm) -> None:
    cidr = "--set=networkPolicy.apiServer.cidrs={10.96.0.1/32}"
    objects = helm.template("docs", CHARTS / "ragbase-operator", f"--namespace={SYSTEM}", cidr)
    chart = [in_namespace(each, SYSTEM) for each in objects]
    found = edges(_policies(chart), [*_hooks_and_operator(chart), *OTHERS], (443, 6443))
    assert {each.target for each in found if each.source == "operator"} == {"api-server"}


def test_an_operator_of_two_namespaces_probes_no_third(helm: Helm) -> None:
    settings = (f"--namespace={SYSTEM}", "--set=watch.namespaces={one,two}")
    objects = helm.template("docs", CHARTS / "ragbase-operator", *settings)
    chart = [in_namespace(each, SYSTEM) for each in objects]
    labels = (("app.kubernetes.io/name", "ragbase"), ("app.kubernetes.io/component", "api"))
    apis = [Pod(name, name, labels) for name in ("one", "two", "three")]
    found = edges(_policies(chart), [*_hooks_and_operator(chart), *apis], (8000,))
    assert {each.target for each in found if each.source == "operator"} == {"one", "two"}
