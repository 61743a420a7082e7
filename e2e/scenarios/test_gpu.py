"""Placement on a GPU: the device and its label are faked in the node's status, pods are real.

No GPU computes here: what is shown is that the pod asks for the device, lands where it is, and that the
operator says what is missing where it is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from e2e.scenarios.caller import Caller
from e2e.scenarios.cluster import Cluster
from e2e.scenarios.kube import Manifest, wait_for
from e2e.scenarios.stack import MODEL, ready
from e2e.scenarios.waiting import parts
from images.catalogue import IMAGES, product_version

GPU = "amd.com/gpu"
LABEL = "feature.node.kubernetes.io/amd-gpu"
PLACE_S = 180.0


@pytest.fixture
def gpu_node(cluster: Cluster) -> Iterator[str]:
    """A node that says that it has eight GPUs; its label is the test's to set."""
    if cluster.node is None:
        pytest.skip("nodes of a cluster that is not ours are left as they are")
    node = cluster.node
    kube = cluster.kube
    kube.set_node_resource(node, GPU, "8")
    yield node
    kube.set_node_resource(node, GPU, None)
    kube.patch("Node", node, None, {"metadata": {"labels": {LABEL: None}}})


def reranker(cluster: Cluster) -> dict[str, Any]:
    """A reranker for ROCm; its image is the one for CPUs, which serves the same protocol."""
    image = {"repository": f"{cluster.registry}/ragbase-inference", "tag": cpu_tag()}
    small = {"requests": {"cpu": "50m", "memory": "256Mi"}}
    return {
        "name": "default",
        "model": MODEL,
        "engine": "ragbase",
        "device": "rocm",
        "image": image,
        "resources": small,
    }


def cpu_tag() -> str:
    """The tag of the inference image for CPUs."""
    return IMAGES["inference-cpu"].reference("x", product_version()).rpartition(":")[2]


def test_a_reranker_for_a_gpu_waits_for_a_labelled_node_and_lands_there(
    caller: Caller, cluster: Cluster, gpu_node: str, namespace: str, docs: str
) -> None:
    kube = cluster.kube
    kube.patch("RagBase", docs, namespace, {"spec": {"rerankers": [reranker(cluster)]}})

    def held_back() -> Manifest | None:
        found = kube.condition("RagBase", docs, namespace, "RerankersReady")
        return found if found.get("reason") == "NoGpuNode" else None

    told = wait_for(held_back, PLACE_S, lambda: kube.story(namespace, "RagBase", docs))
    assert f"labelled {LABEL}=true" in told["message"]

    kube.patch("Node", gpu_node, None, {"metadata": {"labels": {LABEL: "true"}}})

    def landed() -> Manifest | None:
        pods = parts(kube, docs, namespace, "reranker-default")
        return next((pod for pod in pods if pod["spec"].get("nodeName")), None)

    pod = wait_for(landed, PLACE_S, lambda: kube.story(namespace, "RagBase", docs))
    assert pod["spec"]["nodeName"] == gpu_node
    assert pod["spec"]["containers"][0]["resources"]["limits"][GPU] == "1"
    assert kube.get("Node", gpu_node)["status"]["allocatable"][GPU] == "8"  # type: ignore[index]
    kube.patch("RagBase", docs, namespace, {"spec": {"rerankers": None}})
    ready(kube, docs, namespace)


def test_more_gpus_than_there_are_is_said(
    caller: Caller, cluster: Cluster, gpu_node: str, namespace: str, docs: str
) -> None:
    kube = cluster.kube
    kube.patch("Node", gpu_node, None, {"metadata": {"labels": {LABEL: "true"}}})
    greedy = reranker(cluster) | {"gpu": {"count": 9}}
    kube.patch("RagBase", docs, namespace, {"spec": {"rerankers": [greedy]}})

    def told() -> bool:
        found = kube.condition("RagBase", docs, namespace, "RerankersReady")
        return found.get("reason") == "NoGpuNode" and f"9 free {GPU}" in found["message"]

    wait_for(told, PLACE_S, lambda: kube.story(namespace, "RagBase", docs))
    kube.patch("RagBase", docs, namespace, {"spec": {"rerankers": None}})
    ready(kube, docs, namespace)
