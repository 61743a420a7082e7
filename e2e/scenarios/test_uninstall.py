"""What is left when the chart is gone."""

from __future__ import annotations

import pytest

from e2e.scenarios.cluster import Cluster
from e2e.scenarios.kube import Kube, Manifest, wait_for
from e2e.scenarios.operator import Release
from e2e.scenarios.stack import ragbase

GONE_S = 180.0
OURS = "app.kubernetes.io/part-of=ragbase"
CLUSTER_WIDE = ("CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding")
NAMESPACED = (
    "Pod",
    "Deployment",
    "StatefulSet",
    "Job",
    "Service",
    "ConfigMap",
    "Secret",
    "PersistentVolumeClaim",
    "ServiceAccount",
    "Role",
    "RoleBinding",
    "NetworkPolicy",
    "Lease",
)


def left(kube: Kube, namespace: str) -> set[str]:
    """Kinds and names of objects of ours, and of Helm's records of the release."""
    found = {f"{kind}/{each['metadata']['name']}" for kind, each in objects(kube, namespace)}
    return found - {f"Pod/caller-{name}" for name in ("docs", "copy", "last")}


def objects(kube: Kube, namespace: str) -> list[tuple[str, Manifest]]:
    """Everything that carries our label, and crds and leases that belong to us by name."""
    found = [(kind, each) for kind in CLUSTER_WIDE for each in kube.list(kind, None, OURS)]
    found += [(kind, each) for kind in NAMESPACED for each in kube.list(kind, namespace, OURS)]
    helm = kube.list("Secret", namespace, "owner=helm")
    crds = [
        each
        for each in kube.list("CustomResourceDefinition")
        if each["spec"]["group"] == "ragbase.dev"
    ]
    leases = kube.list("Lease", namespace)
    return (
        found
        + [("Secret", each) for each in helm]
        + [("CustomResourceDefinition", each) for each in crds]
        + [("Lease", each) for each in leases]
    )


@pytest.mark.smoke
def test_uninstalling_with_a_live_ragbase_leaves_nothing(
    operator: Release, cluster: Cluster, namespace: str
) -> None:
    """B123: the hook removes custom resources while the operator lives."""
    kube = cluster.kube
    kube.apply(ragbase(cluster, "last", namespace, deletionPolicy="Delete"))
    wait_for(
        lambda: kube.get("Deployment", "last-api", namespace),
        60,
        lambda: kube.story(namespace, "RagBase", "last"),
    )
    operator.uninstall()
    wait_for(lambda: not left(kube, namespace), GONE_S, lambda: str(left(kube, namespace)))


def test_a_second_installation_is_healthy(
    operator: Release, cluster: Cluster, namespace: str
) -> None:
    """B123: right after the first one is gone."""
    operator.install()
    (pod,) = operator.pods()
    assert pod["status"]["phase"] == "Running"
    operator.uninstall()
    wait_for(
        lambda: not left(cluster.kube, namespace),
        GONE_S,
        lambda: str(left(cluster.kube, namespace)),
    )
