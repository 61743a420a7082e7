"""The entity graph: names of documents found by the workers, and searched for by the API."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from e2e.scenarios.caller import Caller
from e2e.scenarios.cluster import Cluster
from e2e.scenarios.kube import Kube, wait_for
from e2e.scenarios.stack import ready
from e2e.scenarios.waiting import parts

ROLL_S = 240.0
LETTERS = {
    "letter": "Ada Lovelace wrote a long letter to Charles Babbage about the engine.",
    "visit": "Charles Babbage visited Mary Somerville in London that summer.",
}


def story(kube: Kube, docs: str, namespace: str) -> str:
    """How the RagBase stands."""
    return kube.story(namespace, "RagBase", docs)


def has_graph(caller: Caller, kube: Kube, docs: str, namespace: str, spec: object) -> None:
    """Change `spec.graph` of the shared RagBase, until all its pods are of that."""
    before = {
        pod["metadata"]["uid"]
        for each in ("api", "worker")
        for pod in parts(kube, docs, namespace, each)
    }
    kube.patch("RagBase", docs, namespace, {"spec": {"graph": spec}})

    def rolled() -> bool:
        now = [p for each in ("api", "worker") for p in parts(kube, docs, namespace, each)]
        return len(now) == 2 and not before & {pod["metadata"]["uid"] for pod in now}

    wait_for(rolled, ROLL_S, lambda: story(kube, docs, namespace))
    ready(kube, docs, namespace)


@pytest.fixture(scope="module")
def graph(caller: Caller, kube: Kube, namespace: str, docs: str) -> Iterator[Caller]:
    """The shared RagBase with a graph in Postgres alone, and the documents in it."""
    spec = {"enabled": True, "extraction": "ner", "memgraph": {"enabled": False}}
    has_graph(caller, kube, docs, namespace, spec)
    caller.ingest(LETTERS)
    yield caller
    mine = {"filter": {"@external_id": {"in": list(LETTERS)}}}
    assert caller.call("POST", "/v1/documents/delete", mine).status == 200
    wait_for(
        lambda: caller.call("GET", "/v1/stats").body["entities"] == 0,
        ROLL_S,
        lambda: "entities are left of documents that are gone",
    )
    has_graph(caller, kube, docs, namespace, None)


def test_workers_find_entities_without_a_language_model(
    graph: Caller, kube: Kube, namespace: str, docs: str
) -> None:
    """By spaCy in their image: no pod is started for it, and nothing is fetched."""

    def found() -> bool:
        answer = graph.call("GET", "/v1/entities?query=babbage")
        return answer.status == 200 and bool(answer.body)

    wait_for(found, ROLL_S, lambda: story(kube, docs, namespace))
    assert parts(kube, docs, namespace, "ner") == []
    condition = kube.condition("RagBase", docs, namespace, "GraphReady")
    assert (condition["status"], condition["reason"]) == ("True", "Available")


def test_a_graph_search_reaches_over_a_name_that_two_documents_share(graph: Caller) -> None:
    body = {"query": "Who knew Ada Lovelace?", "hops": 2}
    answer = graph.call("POST", "/v1/search/graph", body)
    assert answer.status == 200, answer
    nodes = {node["id"].lower() for node in answer.body["subgraph"]["nodes"]}
    assert {"ada lovelace", "charles babbage", "mary somerville"} <= nodes


def test_hybrid_searches_use_it_and_are_not_degraded(graph: Caller) -> None:
    body = {"query": "Charles Babbage", "explain": True}
    answer = graph.call("POST", "/v1/search", body)
    assert answer.status == 200, answer
    assert not answer.body["degraded"], answer
    assert "graph" in answer.body["results"][0]["explain"], answer.body["results"][0]


def test_memgraph_holds_a_projection_without_a_difference(
    cluster: Cluster, graph: Caller, kube: Kube, namespace: str, docs: str
) -> None:
    """With the real images only: Memgraph comes from a registry, and has no stand-in."""
    if not cluster.real_images:
        pytest.skip("no stand-in for Memgraph: RAGBASE_E2E_IMAGES=real runs it")
    has_graph(graph, kube, docs, namespace, {"enabled": True, "extraction": "ner"})
    (worker,) = parts(kube, docs, namespace, "worker")

    def congruent() -> bool:
        command = ["/opt/ragbase/bin/ragbase", "graph", "check"]
        try:
            kube.execute(worker["metadata"]["name"], namespace, command)
        except AssertionError:
            return False
        return True

    wait_for(congruent, ROLL_S, lambda: story(kube, docs, namespace))
    assert kube.condition("RagBase", docs, namespace, "GraphReady")["status"] == "True"
