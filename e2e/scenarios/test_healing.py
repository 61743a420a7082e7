"""Pods that are killed, and children that are deleted."""

from __future__ import annotations

import pytest

from e2e.scenarios.caller import Caller
from e2e.scenarios.documents import DOCUMENTS
from e2e.scenarios.kube import Kube, wait_for
from e2e.scenarios.operator import Release
from e2e.scenarios.stack import ready
from e2e.scenarios.waiting import answers, parts

HEAL_S = 180.0


@pytest.mark.parametrize("component", ["api", "worker", "embedding", "postgres"])
def test_a_killed_pod_comes_back_with_all_data(
    caller: Caller, kube: Kube, namespace: str, docs: str, component: str
) -> None:
    (before,) = parts(kube, docs, namespace, component)
    kube.delete("Pod", before["metadata"]["name"], namespace, grace_s=0)

    def replaced() -> bool:
        found = parts(kube, docs, namespace, component)
        return len(found) == 1 and found[0]["metadata"]["uid"] != before["metadata"]["uid"]

    wait_for(replaced, HEAL_S, lambda: kube.story(namespace, "RagBase", docs))
    wait_for(lambda: answers(caller), HEAL_S, lambda: kube.story(namespace, "RagBase", docs))
    ready(kube, docs, namespace)
    assert caller.call("GET", "/v1/stats").body["documents"] == len(DOCUMENTS)


def test_what_happens_while_no_operator_runs_is_caught_up(
    operator: Release, kube: Kube, namespace: str, docs: str, caller: Caller
) -> None:
    """B107, B113: children that were deleted and edited meanwhile are put back."""
    deployment = operator.deployment
    kube.patch("Deployment", deployment, namespace, {"spec": {"replicas": 0}})
    wait_for(lambda: not operator.pods(), HEAL_S, lambda: "the operator's pod stays")
    kube.delete("Service", f"{docs}-api", namespace)
    kube.delete("Deployment", f"{docs}-worker", namespace)
    kube.patch("Deployment", f"{docs}-embedding", namespace, {"spec": {"replicas": 0}})
    kube.patch("Deployment", deployment, namespace, {"spec": {"replicas": 1}})

    def restored() -> bool:
        embedding = kube.get("Deployment", f"{docs}-embedding", namespace) or {}
        there = kube.get("Service", f"{docs}-api", namespace) and kube.get(
            "Deployment", f"{docs}-worker", namespace
        )
        return bool(there and embedding["spec"]["replicas"] == 1)

    wait_for(restored, HEAL_S, lambda: kube.story(namespace, "RagBase", docs))
    wait_for(lambda: answers(caller), HEAL_S, lambda: kube.story(namespace, "RagBase", docs))
    ready(kube, docs, namespace)
