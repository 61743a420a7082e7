"""What stays of a RagBase that is deleted, and what does not."""

from __future__ import annotations

import pytest

from e2e.scenarios.caller import Caller, start_caller
from e2e.scenarios.cluster import Cluster
from e2e.scenarios.documents import DOCUMENTS, QUESTIONS
from e2e.scenarios.kube import Kube, wait_for
from e2e.scenarios.operator import Release
from e2e.scenarios.stack import ragbase, ready, wait_gone

GONE_S = 180.0
LABELS = "app.kubernetes.io/instance={},app.kubernetes.io/managed-by=ragbase-operator"
WORKLOADS = ("Pod", "Deployment", "StatefulSet", "ReplicaSet", "Job", "Service", "ConfigMap")
KEPT = ("PersistentVolumeClaim", "Secret")


def children(kube: Kube, name: str, namespace: str, *kinds: str) -> set[str]:
    """Kinds and names of what the operator made for a RagBase."""
    found = (
        (kind, each) for kind in kinds for each in kube.list(kind, namespace, LABELS.format(name))
    )
    return {f"{kind}/{each['metadata']['name']}" for kind, each in found}


def test_retained_data_are_found_by_a_new_ragbase_of_the_same_name(
    caller: Caller, cluster: Cluster, operator: Release, namespace: str, docs: str
) -> None:
    kube = cluster.kube
    kept = children(kube, docs, namespace, *KEPT)
    kube.delete("RagBase", docs, namespace)
    wait_gone(kube, "RagBase", docs, namespace)
    wait_for(
        lambda: not children(kube, docs, namespace, *WORKLOADS),
        GONE_S,
        lambda: str(children(kube, docs, namespace, *WORKLOADS)),
    )
    assert children(kube, docs, namespace, *KEPT) == kept
    assert "PersistentVolumeClaim/data-docs-postgres-0" in kept

    kube.apply(ragbase(cluster, docs, namespace))
    ready(kube, docs, namespace)
    again = start_caller(kube, docs, namespace, operator.api_image)
    assert again.call("GET", "/v1/stats").body["documents"] == len(DOCUMENTS)
    for expected, (semantic, keyword) in QUESTIONS.items():
        assert again.search(semantic, "semantic")[0] == expected
        assert again.search(keyword, "keyword")[0] == expected


@pytest.mark.smoke
def test_deleted_data_are_gone(caller: Caller, kube: Kube, namespace: str, docs: str) -> None:
    everything = (*WORKLOADS, *KEPT)
    kube.patch("RagBase", docs, namespace, {"spec": {"deletionPolicy": "Delete"}})
    kube.delete("RagBase", docs, namespace)
    wait_gone(kube, "RagBase", docs, namespace)
    wait_for(
        lambda: not children(kube, docs, namespace, *everything),
        GONE_S,
        lambda: str(children(kube, docs, namespace, *everything)),
    )
